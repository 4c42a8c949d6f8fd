import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewPath

/// Path messages under damaged bytes: from a stranger, who must never be answered, and from a peer that signs what it likes,
/// who is answered with hardly more than it sent.
@Suite("Hostile bytes: path messages")
struct PathMessageHostileTests {
    private static let secret = [UInt8](repeating: 3, count: PathKeys.exportedBytes)
    private static let now = Instant(nanoseconds: 1_000_000_000)
    private static let source = SocketAddress(ipv6High: 0x2001_0db8_0000_0000, low: 1, port: 9)

    private static func corpus() throws -> [[UInt8]] {
        var listener = PathTalk(PathKeys(secret: secret, isDialler: false))
        let call = Call(
            candidates: [SocketAddress(ipv4: 0xc000_0201, port: 9), source],
            relays: [try RelayURL("https://relay.example/")], unheard: listener.keys.mark(ofOwn: [1]))
        var nat = NATReport()
        (nat.ipv4.udp, nat.ipv4.mapping, nat.ipv6.udp) = (.works, .dependsOnPort, .blocked)
        let news = Call(candidates: [source], relays: [], nat: nat)
        let offer = Offer(candidates: call.candidates, nat: nat)
        let entropy = SystemEntropy()
        return [
            listener.ask(.probe, entropy: entropy, now: now), listener.ask(.call(call), entropy: entropy, now: now),
            PathMessage(transaction: TransactionID(random: entropy), counter: 0, content: .callAnswer(observed: source))
                .encoded(listener.keys),
            listener.ask(.call(news), entropy: entropy, now: now),
            listener.ask(.offer(offer), entropy: entropy, now: now),
            PathMessage(transaction: TransactionID(random: entropy), counter: 0, content: .offerAnswer(observed: nil))
                .encoded(listener.keys),
        ]
    }

    /// What a dialler that has heard nothing before makes of it.
    private static func hear(_ bytes: [UInt8]) -> String {
        guard bytes.withUnsafeBytes({ LinkTag(of: $0) }) != nil else { return "no path message" }
        var dialler = PathTalk(PathKeys(secret: secret, isDialler: true))
        switch dialler.hear(bytes, from: source, now: now) {
        case nil: return "silence"
        case .question(let answer):
            HostileRun.require(answer.count <= bytes.count + 12, "too long an answer")
            return "probe"
        case .call(let call, _, let answer):
            HostileRun.require(answer.count <= bytes.count + 12, "too long an answer")
            HostileRun.require(call.candidates.count <= Call.maxCandidates, "too many candidates")
            HostileRun.require(call.candidates.allSatisfy(\.canBeDialled), "a candidate that leads nowhere")
            HostileRun.require(call.relays.count <= Call.maxRelays, "too many relays")
            return "call"
        case .offer(let offer, _, let answer):
            HostileRun.require(answer.count <= bytes.count + 12, "too long an answer")
            HostileRun.require(offer.candidates.count <= Call.maxCandidates, "too many candidates")
            HostileRun.require(offer.candidates.allSatisfy(\.canBeDialled), "a candidate that leads nowhere")
            return "offer"
        case .answer: return "answer"
        }
    }

    @Test("from strangers")
    func strangers() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try PathMessageHostileTests.runStrangers()
            })
    }

    static func runStrangers() throws {
        let corpus = try corpus()
        try HostileRun(name: "path messages of strangers").run(
            corpus: corpus, seed: 21, stages: ["no path message", "silence", "probe", "call", "offer"]
        ) { _, input in
            let heard = Self.hear(input)
            let isGenuine = corpus.contains(input)
            HostileRun.require(heard == "no path message" || heard == "silence" || isGenuine, "answered: \(input)")
            return heard
        }
    }

    @Test("from the peer itself")
    func peer() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try PathMessageHostileTests.runPeer()
            })
    }

    static func runPeer() throws {
        // The attributes alone; header, integrity and fingerprint are put around what was damaged.
        let bodies = try corpus().map { Array($0[20..<($0.count - 44)]) }
        let types: [UInt16] = [0x0001, 0x0101, 0x028a, 0x038a, 0x028b, 0x038b, 0x0011]
        try HostileRun(name: "path messages of the peer").run(
            corpus: bodies, seed: 22, stages: ["no path message", "silence", "probe", "call", "offer"]
        ) { random, input in
            Self.hear(Self.signed(input, types[Int.random(in: types.indices, using: &random)]))
        }
    }

    private static func signed(_ body: [UInt8], _ type: UInt16) -> [UInt8] {
        let padded = body + [UInt8](repeating: 0, count: (4 - body.count % 4) % 4)
        func message(_ length: Int) -> [UInt8] {
            type.bigEndianBytes + UInt16(truncatingIfNeeded: length).bigEndianBytes
                + StunMessage.cookie.bigEndianBytes + [UInt8](repeating: 5, count: 12) + padded
        }
        let key = PathKeys(secret: secret, isDialler: false).sendKey
        let integrity = [0, 0x1c, 0, 32] + HMACSHA256.tag(of: message(padded.count + 36), key: key)
        let whole = message(padded.count + 44) + integrity
        let checksum = CRC32.checksum(whole) ^ StunAttribute.fingerprintMask
        return whole + [0x80, 0x28, 0, 4] + checksum.bigEndianBytes
    }
}
