import MewTestSupport
import MewWire
import Testing

/// Messages whose JSON was changed in structure, then perhaps in its bytes: what is accepted is written again and read as the
/// same frame, on either kind of link.
@Suite("Hostile bytes: messages")
struct MessageHostileTests {
    @Test("messages of clients")
    func client() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try MessageHostileTests.runClient()
            })
    }

    static func runClient() throws {
        try run(WireForm.client, name: "client messages", seed: 12) { bytes, link in
            Self.stage(of: ClientFrame.decode(bytes, from: link)) { frame in
                guard let again = frame.encoded(for: link) else { return true }
                return ClientFrame.decode(again, from: link) == .decoded(frame)
            }
        }
    }

    @Test("messages of daemons")
    func daemon() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try MessageHostileTests.runDaemon()
            })
    }

    static func runDaemon() throws {
        try run(WireForm.daemon, name: "daemon messages", seed: 13) { bytes, link in
            Self.stage(of: DaemonFrame.decode(bytes, from: link)) { frame in
                guard let again = frame.encoded(for: link) else { return true }
                return DaemonFrame.decode(again, from: link) == .decoded(frame)
            }
        }
    }

    private static let stages = ["not JSON", "no object", "no type", "unknown type", "wrong fields", "decoded"]

    private static func run(
        _ forms: [WireForm], name: String, seed: UInt64, _ decode: ([UInt8], ApplicationProtocol) -> String
    ) throws {
        let values = try forms.map { try JSON(parsing: $0.text) }
        // The mutations of bytes have these to splice with; each input is drawn anew.
        let corpus = values.map(\.utf8)
        try HostileRun(name: name).run(corpus: corpus, seed: seed, stages: stages) { random, bytes in
            // Seven of eight inputs are of changed structure, the others of changed bytes.
            guard Int.random(in: 0..<8, using: &random) > 0, var json = values.randomElement(using: &random) else {
                return decode(bytes, .native)
            }
            for _ in 0..<Int.random(in: 1...2, using: &random) {
                json = JSONMutations.mutate(json, pool: values, using: &random)
            }
            return decode(json.utf8, Bool.random(using: &random) ? .native : .stock)
        }
    }

    private static func stage<Frame, Envelope>(
        of result: Decoded<Frame, Envelope>, survives: (Frame) -> Bool
    ) -> String {
        switch result {
        case .decoded(let frame):
            HostileRun.require(survives(frame), "written and read again, it is another frame: \(frame)")
            return "decoded"
        case .unknownType(let name, _):
            HostileRun.require(name.utf8.count <= 64, "a long name: \(name)")
            return "unknown type"
        case .invalid(let sentence, _):
            HostileRun.require(sentence.utf8.count <= 300, "a long sentence: \(sentence)")
            if sentence.hasPrefix("not valid JSON") { return "not JSON" }
            if sentence == "the message must be a JSON object" { return "no object" }
            return sentence.hasPrefix("type ") ? "no type" : "wrong fields"
        }
    }
}
