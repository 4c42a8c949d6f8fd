import MewBase
import MewIdentity
import MewWire
import Synchronization
import Testing

/// What every `Link` promises, whatever carries it.
@Suite("Link laws", .timeLimit(.minutes(1)))
struct LinkLawTests {
    @Test("messages arrive whole and in order, both ways", arguments: LinkKind.allCases, ApplicationProtocol.allCases)
    func order(kind: LinkKind, applicationProtocol: ApplicationProtocol) async throws {
        try await withLink(kind, applicationProtocol) { ends in
            let (near, far) = try await ends.channel()
            for count in [1, 100, 70_000, 2_000_000] {
                let message = [UInt8](repeating: 0x61, count: count)
                async let sent: Void = near.send(message)
                #expect(try await far.receive() == message)
                try await sent
                async let answered: Void = far.send(message)
                #expect(try await near.receive() == message)
                try await answered
            }
        }
    }

    @Test(
        "what was sent before finish still arrives, then nil, and further sends are refused",
        arguments: LinkKind.allCases)
    func finish(kind: LinkKind) async throws {
        try await withLink(kind) { ends in
            let (near, far) = try await ends.channel()
            try await near.send([1])
            await near.finish()
            await near.finish()
            #expect(try await far.receive() == [1])
            #expect(try await far.receive() == nil)
            #expect(try await far.receive() == nil)
            await #expect(throws: ChannelError.finished) { try await near.send([2]) }
            try await far.send([3])
            #expect(try await near.receive() == [3])
        }
    }

    @Test("a reset ends both directions at once and tells its code", arguments: LinkKind.allCases)
    func reset(kind: LinkKind) async throws {
        try await withLink(kind) { ends in
            let (near, far) = try await ends.channel()
            await near.reset(code: 0x103)
            await #expect(throws: ChannelError.reset(code: 0x103)) { try await far.receive() }
            await #expect(throws: ChannelError.reset(code: 0x103)) { try await far.send([1]) }
            await #expect(throws: ChannelError.cancelled) { try await near.send([1]) }
            await #expect(throws: ChannelError.cancelled) { try await near.receive() }
        }
    }

    @Test("a sender waits while the reader reads nothing, and goes on when it does", arguments: LinkKind.allCases)
    func backPressure(kind: LinkKind) async throws {
        try await withLink(kind) { ends in
            let (near, far) = try await ends.channel()
            let message = [UInt8](repeating: 7, count: 100_000)
            // 50 MB: more than any window on the way holds.
            let sent = Count()
            let sender = Task { () async throws(ChannelError) -> Int in
                while sent.current < 500 {
                    try await near.send(message)
                    sent.increment()
                }
                return sent.current
            }
            // The link lives on meanwhile, and gives the sender all the time it could want.
            let (other, otherFar) = try await ends.channel()
            for _ in 0..<200 {
                try await other.send([1])
                #expect(try await otherFar.receive() == [1])
            }
            #expect(sent.current < 100)
            for _ in 0..<500 { #expect(try await far.receive() == message) }
            #expect(try await sender.value == 500)
        }
    }

    @Test(
        "cancelling frees a waiting reader, and those who wait for a channel or the end; nothing is lost by it",
        arguments: LinkKind.allCases)
    func cancellation(kind: LinkKind) async throws {
        try await withLink(kind) { ends in
            let (near, far) = try await ends.channel()
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await #expect(throws: ChannelError.cancelled) { try await near.receive() } }
                group.addTask { #expect(await ends.listener.acceptChannel() == nil) }
                group.addTask { #expect(await ends.dialler.closed() == nil) }
                group.addTask { #expect(await ends.listener.closed() == nil) }
                group.cancelAll()
            }
            try await far.send([4])
            #expect(try await near.receive() == [4])
            let (other, otherFar) = try await ends.channel()
            try await other.send([5])
            #expect(try await otherFar.receive() == [5])
        }
    }

    @Test("a channel is invisible to the listener until something was sent on it", arguments: LinkKind.allCases)
    func announcedByFirstMessage(kind: LinkKind) async throws {
        try await withLink(kind) { ends in
            let silent = try await ends.dialler.openChannel()
            let second = try await ends.dialler.openChannel()
            try await second.send([2])
            #expect(try await ends.listener.acceptChannel()?.receive() == [2])
            try await silent.send([1])
        }
    }

    @Test("a stock link has one channel", arguments: LinkKind.allCases)
    func stockHasOneChannel(kind: LinkKind) async throws {
        try await withLink(kind, .stock) { ends in
            let (near, far) = try await ends.channel()
            await #expect(throws: ChannelError.self) { try await ends.dialler.openChannel() }
            async let second = ends.listener.acceptChannel()
            try await near.send([0x31])
            #expect(try await far.receive() == [0x31])
            await ends.dialler.close(code: .done, reason: "")
            #expect(await second == nil)
        }
    }

    @Test(
        "closing tells the peer code and reason, each side from its own view; the first call wins",
        arguments: LinkKind.allCases)
    func close(kind: LinkKind) async throws {
        try await withLink(kind) { ends in
            let (near, far) = try await ends.channel()
            await ends.listener.close(code: .revoked, reason: "revoked on the daemon")
            await ends.listener.close(code: .done, reason: "")
            let seen = LinkClosure.peer(.revoked, reason: "revoked on the daemon")
            #expect(await ends.dialler.closed() == seen)
            #expect(await ends.listener.closed() == .local(.revoked))
            await #expect(throws: ChannelError.linkClosed(seen)) { try await near.send([1]) }
            await #expect(throws: ChannelError.linkClosed(seen)) { try await near.receive() }
            await #expect(throws: ChannelError.linkClosed(.local(.revoked))) { try await far.receive() }
            await #expect(throws: ChannelError.linkClosed(seen)) { try await ends.dialler.openChannel() }
            #expect(await ends.listener.acceptChannel() == nil)
        }
    }

    @Test("a last message sent right before the close arrives", arguments: LinkKind.allCases)
    func lastWords(kind: LinkKind) async throws {
        try await withLink(kind) { ends in
            let (near, far) = try await ends.channel()
            try await far.send([9, 9])
            await ends.listener.close(code: .revoked, reason: "revoked")
            #expect(try await near.receive() == [9, 9])
            await #expect(throws: ChannelError.linkClosed(.peer(.revoked, reason: "revoked"))) {
                try await near.receive()
            }
        }
    }

    @Test("both ends export the same keying material, another for another label and link", arguments: LinkKind.allCases)
    func exporter(kind: LinkKind) async throws {
        var first: [UInt8] = []
        try await withLink(kind, authorized: false) { ends in
            let digits = try await ends.dialler.export(label: "EXPORTER-mew-pair-1", byteCount: 8)
            #expect(digits.count == 8)
            #expect(try await ends.listener.export(label: "EXPORTER-mew-pair-1", byteCount: 8) == digits)
            #expect(try await ends.listener.export(label: "EXPORTER-mew-pair-2", byteCount: 8) != digits)
            first = digits
        }
        try await withLink(kind, authorized: false) { ends in
            let other = try await ends.dialler.export(label: "EXPORTER-mew-pair-1", byteCount: 8)
            #expect(other != first)
        }
    }
}

/// Counts in one task and is read in another.
private final class Count: Sendable {
    private let value = Mutex(0)

    var current: Int { value.withLock { $0 } }

    func increment() { value.withLock { $0 += 1 } }
}
