import MewBase
import MewIdentity
import MewLoop
import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// What a device that is paired and means harm can do: nothing that the others notice.
@Suite("A paired but hostile peer", .timeLimit(.minutes(1)))
struct HostilePeerTests {
    private static let rows = [DaemonBench.device(Pairing.phone), DaemonBench.device(Pairing.laptop)]

    /// The other device is served as if nothing happened.
    private func othersAreServed(_ bench: DaemonBench) async throws {
        let laptop = try await bench.connect(Pairing.laptop)
        try await laptop.enter()
        try await laptop.send(.ping)
        #expect(try await laptop.message() == .pong(.init(version: "0.2.0")))
    }

    @Test("ten thousand channels: the connection is closed with 4 at the first one too many")
    func manyChannels() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            let peer = try await bench.dial(Pairing.phone)
            try await peer.open().enter()
            do {
                for _ in 0..<10_000 {
                    let channel = try await peer.open()
                    try await channel.send(.attachSession(.init(sessionID: SessionID(ULID(high: 1, low: 1)))))
                    // Waits for the answer, so that the channels are there one after the other and not only asked for.
                    guard try await channel.message() != nil else { break }
                }
                return fail("nobody minded")
            } catch {
                #expect(
                    await peer.link.closed() == .peer(.protocolViolation, reason: "more than 64 channels are open"))
            }
            try await othersAreServed(bench)
        }
    }

    @Test("a peer that asks and never reads is not asked on behalf of for ever: its requests wait in its own channel")
    func neverReads() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            let control = try await bench.connect(Pairing.phone)
            try await control.enter()
            // Each ping costs the daemon an answer; after a while it stops taking more, and `send` waits with us.
            let flood = Task {
                for _ in 0..<1_000_000 { try await control.send(.ping) }
            }
            try await othersAreServed(bench)
            await control.link.close(code: .done, reason: "")
            await #expect(throws: (any Error).self) { try await flood.value }
            try await othersAreServed(bench)
        }
    }

    @Test("frames of eight megabytes are read one at a time and refused, not collected")
    func hugeFrames() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            let control = try await bench.connect(Pairing.phone)
            try await control.enter()
            let padding = String(repeating: "x", count: 8 << 20 - 64)
            for _ in 0..<4 {
                try await control.send(text: "{\"type\":\"prompt\",\"text\":\"\(padding)\"}")
                guard case .error? = try await control.message() else { return fail("no answer") }
            }
            try await othersAreServed(bench)
        }
    }

    private static func address(_ network: UInt32) -> SocketAddress {
        SocketAddress(ipv4: 0x0a00_0001 + network << 8, port: 1)
    }

    @Test("strangers may fill their 32 places while a window is open; known devices come in all the same")
    func strangers() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            _ = try await bench.window()
            var peers: [TestPeer] = []
            for number in 0..<32 {
                peers.append(
                    try await bench.dial(Pairing.numberedNode(number + 1_000), from: Self.address(UInt32(number) / 8)))
            }
            let late = try await bench.dial(Pairing.numberedNode(2_000), from: Self.address(9))
            #expect(await late.link.closed() == .peer(.unauthorized, reason: "too many devices are waiting"))
            try await othersAreServed(bench)
            for peer in peers { await peer.link.close(code: .done, reason: "") }
        }
    }

    @Test("one network has eight of the places; the device in the operator's hand finds one")
    func strangersOfOneNetwork() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            let screen = try await bench.window()
            var peers: [TestPeer] = []
            for number in 0..<8 { peers.append(try await bench.dial(Pairing.numberedNode(number + 1_000))) }
            let ninth = try await bench.dial(Pairing.numberedNode(2_000))
            #expect(await ninth.link.closed() == .peer(.unauthorized, reason: "too many devices are waiting"))
            let wanted = try await bench.dial(Pairing.numberedNode(3_000), from: Self.address(1)).open()
            try await wanted.hello(token: screen.token.revealed)
            guard case .remoteReady? = try await wanted.message() else { return fail("not let in") }
            for peer in peers { await peer.link.close(code: .done, reason: "") }
        }
    }

    @Test("connections of a known device that say nothing take nobody's place")
    func silentConnections() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            let screen = try await bench.window()
            var peers: [TestPeer] = []
            for number in 1...100 {
                peers.append(try await bench.dial(Pairing.phone))
                while await bench.daemon.connections.count < number { await Task.yield() }
            }
            let wanted = try await bench.connect(Pairing.numberedNode(3_000))
            try await wanted.hello(token: screen.token.revealed)
            guard case .remoteReady? = try await wanted.message() else { return fail("not let in") }
            try await othersAreServed(bench)
            for peer in peers { await peer.link.close(code: .done, reason: "") }
        }
    }

    @Test("a connection that asks in all its channels and reads none is closed with 4 when 10 MiB wait for it")
    func readsNothing() async throws {
        try await DaemonBench.with(devices: Self.rows) { bench in
            let channel = try await bench.connect(Pairing.phone)
            try await channel.enter()
            let device = await bench.daemon.allowance(of: Pairing.phone)
            let allowance = ConnectionAllowance(within: device)
            // What other channels of the connection hold.
            let others = allowance.bytes.share()
            #expect(others.hold(ConnectionAllowance.maxBytes))
            #expect(device.bytes.usedBytes == ConnectionAllowance.maxBytes)
            let client = await bench.daemon.client(
                .session, of: DaemonBench.device(Pairing.phone), within: allowance)
            #expect(client.push([UInt8](repeating: 0x20, count: 4_096), .reply) == .queued)
            #expect(!client.isOverdrawn)
            #expect(client.push([UInt8](repeating: 0x20, count: 4_097), .reply) == .silent)
            #expect(client.isOverdrawn)
            #expect(await client.next() == nil)
            try await othersAreServed(bench)
        }
    }
}
