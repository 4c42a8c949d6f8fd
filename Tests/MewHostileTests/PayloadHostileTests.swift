import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

/// Pairing payloads and node IDs under damaged text. What is accepted prints and parses back to itself; what is refused is
/// refused by a sentence that disturbs no terminal and holds no token.
@Suite("Hostile bytes: payloads")
struct PayloadHostileTests {
    static let hex = "197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61"
    static let z32 = "df9sse9bp1nuftim3yhxiuk6w6r5hddsskjygpydux7esxjstioo"
    static let base32 = "df7wwi7bnsctfrvlza4pvtk6u6e34ddwwkjagnadtp5iwpjwrvqq"
    static let secret = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    static let secretStart = secret.prefix(8)

    static let payloads = [
        #"mew001:{"node_id":"\#(hex)","name":"desk","token":"mew_\#(secret)","relay":"https://a.example/","#
            + #""relays":["https://b.example/"],"addrs":["192.0.2.1:4433","[2001:db8::1]:4433"]}"#,
        #"mew001:{"node_id":"\#(z32)"}"#, "mew001:\(hex)", "computer.mew.mew://\(hex)?token=mew_\(secret)",
        "computer.mew.mew://\(base32)", z32, hex, base32, "mew002:\(hex)", "mew001:node_id:\(hex)", " \(z32)\n",
    ]

    @Test("pairing payloads")
    func pairingPayloads() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try PayloadHostileTests.runPairingPayloads()
            })
    }

    static func runPairingPayloads() throws {
        try HostileRun(name: "pairing payloads").run(
            corpus: Self.payloads.map { Array($0.utf8) }, seed: 5,
            stages: [
                "accepted", "node ID refused", "JSON refused", "part refused", "no node ID", "another version",
                "expanded by a shell", "more than a payload", "empty",
            ]
        ) { _, input in
            let text = String(decoding: input, as: UTF8.self)
            do {
                let payload = try PairingPayload(parsing: text)
                try Self.checkRoundTrip(payload)
                return "accepted"
            } catch let error as PairingPayloadError {
                Self.checkSentence(error.description)
                return Self.stage(error)
            }
        }
    }

    static func checkRoundTrip(_ payload: PairingPayload) throws {
        let again = try PairingPayload(parsing: payload.text)
        HostileRun.require(again.text == payload.text, "another payload printed: \(payload.text)")
        let short = try PairingPayload(parsing: payload.link)
        HostileRun.require(short.node == payload.node, "another node in the link: \(payload.link)")
    }

    static func checkSentence(_ sentence: String) {
        // Nearly every sentence is plain ASCII; looking up each character takes most of the time.
        let isCalm =
            sentence.utf8.allSatisfy { (0x20...0x7e).contains($0) }
            || sentence.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator: false
                default: true
                }
            }
        HostileRun.require(isCalm, "disturbs a terminal: \(sentence.debugDescription)")
        HostileRun.require(!sentence.contains(secretStart), "tells a token: \(sentence)")
    }

    static func stage(_ error: PairingPayloadError) -> String {
        switch error {
        case .empty: "empty"
        case .node: "node ID refused"
        case .notJSON: "JSON refused"
        case .part: "part refused"
        case .missingNodeID: "no node ID"
        case .unknownVersion: "another version"
        case .expandedByShell: "expanded by a shell"
        case .surroundings, .tooLong: "more than a payload"
        }
    }

    @Test("node IDs")
    func nodeIDs() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try PayloadHostileTests.runNodeIDs()
            })
    }

    static func runNodeIDs() throws {
        try HostileRun(name: "node IDs").run(
            corpus: [Self.hex, Self.z32, Self.base32, Self.base32.uppercased()].map { Array($0.utf8) }, seed: 6,
            stages: ["accepted", "wrong length", "wrong character", "wrong last character", "no key"]
        ) { _, input in
            do {
                let node = try NodeID(text: String(decoding: input, as: UTF8.self))
                for text in [node.hex, node.z32, node.base32] {
                    HostileRun.require(try NodeID(text: text) == node, "parsed back to another: \(text)")
                }
                return "accepted"
            } catch let error as NodeIDTextError {
                Self.checkSentence(error.description)
                switch error {
                case .empty, .wrongLength: return "wrong length"
                case .wrongCharacter: return "wrong character"
                case .wrongLastCharacter: return "wrong last character"
                case .notAKey: return "no key"
                }
            }
        }
    }
}
