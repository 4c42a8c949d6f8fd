import MewBase
import MewIdentity
import MewLoop
import MewWire
import Testing

@testable import MewRelay

@Suite("A relay's client and the loop it shares", .timeLimit(.minutes(1)))
struct LegTurnTests {
    /// Gives out what it has.
    private struct Given: RelayConnector {
        let stream: any TCPStream

        func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream { stream }
    }

    /// Counts what a leg delivers, on its loop.
    private actor Receiver {
        nonisolated let unownedExecutor: UnownedSerialExecutor
        private let loop: EventLoop
        private var count = 0
        private var countBefore: Int?
        private var waiting: (count: Int, asker: CheckedContinuation<Void, Never>)?

        init(_ loop: EventLoop) {
            self.loop = loop
            unownedExecutor = loop.asUnownedSerialExecutor()
        }

        /// How many of `all` packets came before a timer that was due at the first.
        func run(_ leg: RelayLeg, all: Int) async -> Int? {
            RelayCarrier(leg).onReceive = { _, _, _ in self.assumeIsolated { $0.received() } }
            await leg.start()
            if count < all { await withCheckedContinuation { waiting = (all, $0) } }
            return countBefore
        }

        private func received() {
            count += 1
            if count == 1 {
                _ = loop.schedule(at: loop.now) { self.assumeIsolated { $0.countBefore = $0.count } }
            }
            if let waiting, count == waiting.count { waiting.asker.resume() }
        }
    }

    @Test("a relay that sends without end leaves the loop to others")
    func endless() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let (near, far) = try StreamSocket.pair(on: loop)
        let packet = RelayDatagrams(peer: Self.sender.node, contents: [UInt8](repeating: 1, count: 1_000)[...])
        // More than one read takes, and less than the socket holds.
        try await far.write(try Self.admission() + (0..<150).flatMap { _ in Self.said(.relayToClient(packet)) })
        let leg = RelayLeg(
            .init(url: try RelayURL("http://relay.test/"), secret: Self.receiver),
            connector: Given(stream: PlainStream(near)), loop: loop, entropy: KnownEntropy())
        let before = await Receiver(loop).run(leg, all: 150)
        #expect(before.map { $0 < 150 } == true, "\(String(describing: before))")
        await leg.close()
        await far.close()
    }

    private static let sender = SecretKey(seed: Array(repeating: 0x77, count: 32))!
    private static let receiver = SecretKey(seed: Array(repeating: 0x61, count: 32))!

    /// What a relay answers is known before it is asked.
    private struct KnownEntropy: Entropy {
        func fill(_ buffer: UnsafeMutableRawBufferPointer) {
            for index in buffer.indices { buffer[index] = 7 }
        }
    }

    private static func said(_ frame: RelayFrame) -> [UInt8] { WebSocketWriter.frame(.binary, frame.encoded) }

    /// All that a relay says to let that client in.
    private static func admission() throws -> [UInt8] {
        let upgrade = LegUpgrade(entropy: KnownEntropy())
        let request = upgrade.request(to: try RelayURL("http://relay.test/"), token: nil, proof: nil)
        guard case .accepted(let taken) = RelayUpgrade.read(request) else { preconditionFailure("our own request") }
        return taken.response.encoded + said(.serverChallenge(RelayChallenge(entropy: KnownEntropy())))
            + said(.serverConfirmsAuth)
    }
}
