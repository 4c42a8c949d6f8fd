import Glibc
import MewBase
import MewLoop
import Testing

@Suite("Interfaces of this machine", .timeLimit(.minutes(10)))
struct NetworkInterfaceTests {
    @Test("the loopback address is among them, marked as what it is")
    func loopback() throws {
        let found = try #require(try InterfaceAddress.all().first { $0.address == .loopback(port: 0) })
        #expect(found.interface == "lo")
        #expect(found.isLoopback && found.isUp && !found.isBridge && !found.isPointToPoint)
        #expect(found.prefixLength == 8)
    }

    /// The loop's thread moves into a network of its own, where the loopback interface is down. That needs root, as CI is.
    @Test("an interface that comes up is told, once for all that happened in a turn, and not after the close")
    func changes() async throws {
        try await withLoop { loop in
            let told = Shared(0)
            let (tells, input) = AsyncStream<Void>.makeStream()
            let watching = try await loop.run { () -> Watching? in
                guard Self.enterOwnNetwork() else { return nil }
                let changes = try NetworkChanges(on: loop) {
                    told.with { $0 += 1 }
                    input.yield()
                }
                return Watching(changes)
            }
            guard let watching else {
                return withKnownIssue("a network of its own needs root") { Issue.record("not root") }
            }
            try await loop.run {
                #expect(told.current == 0)
                try Self.setLoopback(up: true)
            }
            for await _ in tells { break }
            #expect(try await loop.run { try InterfaceAddress.all() }.contains { $0.isLoopback && $0.isUp })
            // Everything the kernel had to say about it was read in that turn or in the next ones.
            for _ in 0..<10 { try await loop.run {} }
            let count = told.current
            try await loop.run {
                watching.changes.close()
                watching.changes.close()
                try Self.setLoopback(up: false)
            }
            for _ in 0..<10 { try await loop.run {} }
            #expect(told.current == count)
        }
    }

    /// In a network of its own, as above.
    @Test("what happens to the network in a quarter of a second is one event, and none when all is as it was before")
    func watch() async throws {
        try await withLoop { loop in
            let told = Shared<[Bool]>([])
            let (tells, input) = AsyncStream<Void>.makeStream()
            let watch = try await loop.run { () -> NetworkWatch? in
                guard Self.enterOwnNetwork() else { return nil }
                return try NetworkWatch(on: loop) { event, picture in
                    #expect(event == .changed)
                    told.with { $0.append(picture.addresses.contains(.loopback(port: 0))) }
                    input.yield()
                }
            }
            guard let watch else {
                return withKnownIssue("a network of its own needs root") { Issue.record("not root") }
            }
            try await loop.run {
                for isUp in [true, false, true] { try Self.setLoopback(up: isUp) }
            }
            for await _ in tells { break }
            #expect(told.current == [true])
            // Down and up again: nothing to tell. The timer is later than the one that gathers.
            try await loop.run {
                try Self.setLoopback(up: false)
                try Self.setLoopback(up: true)
            }
            try await LoopClock(loop).sleep(for: NetworkWatch.gathering * 2)
            #expect(told.current == [true])
            try await loop.run { try Self.setLoopback(up: false) }
            for await _ in tells { break }
            #expect(told.current == [true, false])
            watch.stop()
            watch.stop()
            try await loop.run { try Self.setLoopback(up: true) }
            try await LoopClock(loop).sleep(for: NetworkWatch.gathering * 2)
            #expect(told.current == [true, false])
        }
    }

    /// `@unchecked Sendable`: touched on the loop only.
    private struct Watching: @unchecked Sendable {
        let changes: NetworkChanges

        init(_ changes: NetworkChanges) {
            self.changes = changes
        }
    }

    /// unshare(2), which the Glibc module does not show. False without the right to do it.
    private static func enterOwnNetwork() -> Bool {
        typealias Unshare = @convention(c) (Int32) -> Int32
        let newNetwork: Int32 = 0x4000_0000  // CLONE_NEWNET
        guard let symbol = dlsym(nil, "unshare") else { return false }
        return unsafeBitCast(symbol, to: Unshare.self)(newNetwork) == 0
    }

    /// As `ip link set lo up`, in the network of the calling thread.
    private static func setLoopback(up: Bool) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var request = ifreq()
        withUnsafeMutableBytes(of: &request.ifr_ifrn) { $0.copyBytes(from: Array("lo".utf8)) }
        guard ioctl(descriptor, UInt(SIOCGIFFLAGS), &request) == 0 else { throw Self.failure }
        let flag = Int16(IFF_UP)
        request.ifr_ifru.ifru_flags = up ? request.ifr_ifru.ifru_flags | flag : request.ifr_ifru.ifru_flags & ~flag
        guard ioctl(descriptor, UInt(SIOCSIFFLAGS), &request) == 0 else { throw Self.failure }
    }

    private static var failure: SystemError { SystemError(errno: errno, doing: "changing the loopback interface") }
}
