import MewBase
import MewIdentity
import MewWire
import Testing

@Suite("Pairing payloads")
struct PairingPayloadTests {
    static let hex = "197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61"
    static let z32 = "df9sse9bp1nuftim3yhxiuk6w6r5hddsskjygpydux7esxjstioo"
    static let base32 = "df7wwi7bnsctfrvlza4pvtk6u6e34ddwwkjagnadtp5iwpjwrvqq"
    static let token = "mew_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    static let full =
        #"mew001:{"node_id":"\#(hex)","name":"desk","token":"\#(token)","relay":"https://a.example/","#
        + #""relays":["https://a.example/","https://b.example/"],"addrs":["192.0.2.1:4433","[2001:db8::1]:4433"]}"#

    static func node() throws -> NodeID { try #require(NodeID(hex: hex)) }

    // MARK: What is accepted

    @Test(
        "every form of the specification, with each alphabet and with white space around it",
        arguments: [hex, z32, base32, base32.uppercased()].flatMap { id in
            [
                ("computer.mew.mew://\(id)", false), ("computer.mew.mew://\(id)?token=\(token)", true),
                ("mew001:\(id)", false), (#"mew001:{"node_id":"\#(id)"}"#, false),
                (#"mew001: {"token": "\#(token)", "node_id": "\#(id)"}"#.replacingFirst(": {", with: ":{"), true),
                (id, false),
            ]
        })
    func forms(text: String, hasToken: Bool) throws {
        for padded in [text, "  \(text)", "\t\(text)\r\n"] {
            let payload = try PairingPayload(parsing: padded)
            #expect(payload.node == (try Self.node()))
            #expect(payload.token?.revealed == (hasToken ? Self.token : nil))
            #expect(payload.name == nil && payload.relays.isEmpty && payload.addresses.isEmpty)
        }
    }

    @Test("the full JSON form gives name, token, relays home first and addresses")
    func fullForm() throws {
        let payload = try PairingPayload(parsing: Self.full)
        #expect(payload.node == (try Self.node()))
        #expect(payload.name == "desk")
        #expect(payload.token?.revealed == Self.token)
        #expect(payload.relays == ["https://a.example/", "https://b.example/"])
        #expect(payload.addresses.map(\.description) == ["192.0.2.1:4433", "[2001:db8::1]:4433"])
    }

    @Test("null and members of a later version are ignored")
    func lenient() throws {
        let payload = try PairingPayload(
            parsing: #"mew001:{"node_id":"\#(Self.hex)","name":null,"token":null,"relays":null,"future":[1,{}]}"#)
        #expect(payload.name == nil && payload.token == nil && payload.relays.isEmpty)
    }

    @Test("a name is cleaned before any screen sees it")
    func cleanedName() throws {
        let payload = try PairingPayload(parsing: #"mew001:{"node_id":"\#(Self.hex)","name":" a\u001b[31m "}"#)
        #expect(payload.name == "a\u{FFFD}[31m")
        #expect(PairingPayload(node: payload.node, name: "  ").name == nil)
    }

    // MARK: What is printed

    @Test("what is printed is parsed back, in full and in short")
    func roundTrip() throws {
        let payload = try PairingPayload(parsing: Self.full)
        #expect(payload.text == Self.full)
        #expect(payload.link == "computer.mew.mew://\(Self.hex)?token=\(Self.token)")
        let short = try PairingPayload(parsing: payload.link)
        #expect(short.node == payload.node && short.token?.revealed == Self.token)
        #expect(PairingPayload(node: payload.node).text == #"mew001:{"node_id":"\#(Self.hex)"}"#)
        #expect(PairingPayload(node: payload.node).link == "computer.mew.mew://\(Self.hex)")
    }

    @Test("the command quotes the payload, quotes in the name too")
    func command() throws {
        let payload = PairingPayload(node: try Self.node(), name: "Ann's desk")
        #expect(payload.command == #"mew add 'mew001:{"node_id":"\#(Self.hex)","name":"Ann'\''s desk"}'"#)
    }

    @Test("routes beyond the bounds are left out, so that what we print we also accept")
    func printedBounds() throws {
        let payload = PairingPayload(
            node: try Self.node(), relays: (0..<20).map { "https://\($0).example/" },
            addresses: (1...20).map { SocketAddress.loopback(port: $0) })
        #expect(payload.relays.count == PairingPayload.maxRelays)
        #expect(payload.addresses.count == PairingPayload.maxAddresses)
        #expect(try PairingPayload(parsing: payload.text).addresses == payload.addresses)
    }

    // MARK: What is refused

    static func json(_ members: String) -> String { #"mew001:{"node_id":"\#(hex)",\#(members)}"# }

    static let refusals: [(String, PairingPayloadError)] = [
        ("", .empty), (" \n", .empty),
        ("mew002:\(hex)", .unknownVersion("mew002")), ("mew1:x", .unknownVersion("mew1")),
        ("mew0010:x", .unknownVersion("mew0010")),
        ("mew001:", .node(.empty)), ("computer.mew.mew://", .node(.empty)),
        ("computer.mew.mew://?token=\(token)", .node(.empty)),
        ("computer.mew.mew://\(hex)/", .node(.wrongLength(65))),
        ("computer.mew.mew://\(hex)?token=", .part(.token, "does not begin with mew_")),
        ("https://example.com/", .node(.wrongLength(20))), ("hello", .node(.wrongLength(5))),
        (hex.uppercased(), .node(.wrongCharacter("F", position: 4, .hex))),
        ("mew001:node_id:\(hex)", .expandedByShell),
        ("mew001:node_id:\(hex) mew001:token:\(token)", .expandedByShell),
        ("mew001:token:\(token) mew001:node_id:\(hex)", .expandedByShell),
        ("mew001:{node_id:\(hex),token:\(token)}", .expandedByShell),
        ("mew001:{node_id:\(hex)}", .expandedByShell),
        ("mew add 'mew001:\(hex)'", .surroundings(.command)), ("'mew001:\(hex)'", .surroundings(.quotes)),
        ("mew-node-id:\(z32)", .surroundings(.label("mew-node-id:"))),
        ("\(z32) \(z32)", .surroundings(.severalWords)),
        (#"mew001:{"name":"desk"}"#, .missingNodeID),
        (#"mew001:{"node_id":7}"#, .part(.nodeID, "is an integer instead of a string")),
        (#"mew001:{"node_id":"x"}"#, .node(.wrongLength(1))),
        (json(#""name":7"#), .part(.name, "is an integer instead of a string")),
        (json(#""token":"mew_""#), .part(.token, "has 0 characters after mew_ instead of 26")),
        (json(#""relay":"ftp://x""#), .part(.relay, "is no http or https URL")),
        (json(#""relay":"https://a b""#), .part(.relay, "is no http or https URL")),
        (json(#""relays":"https://a""#), .part(.relays, "is a string instead of an array")),
        (json(#""addrs":["example.com:1"]"#), .part(.addrs, "holds something that is no IP:PORT to dial")),
        (json(#""addrs":["192.0.2.1:0"]"#), .part(.addrs, "holds something that is no IP:PORT to dial")),
        (json(#""addrs":["0.0.0.0:1"]"#), .part(.addrs, "holds something that is no IP:PORT to dial")),
    ]

    @Test("everything else is refused by name", arguments: refusals.indices)
    func refused(index: Int) {
        let (text, error) = Self.refusals[index]
        #expect(throws: error) { try PairingPayload(parsing: text) }
    }

    @Test("damaged JSON says where, and no refusal quotes a token")
    func damaged() throws {
        let cut = String(Self.full.dropLast(2))
        #expect {
            try PairingPayload(parsing: cut)
        } throws: { error in
            guard case .notJSON(let problem) = error as? PairingPayloadError else { return false }
            return problem.contains("byte") && !"\(error)".contains(Self.token)
        }
        #expect {
            try PairingPayload(parsing: "computer.mew.mew://\(Self.hex)?token=\(Self.token.dropLast())O")
        } throws: { error in
            "\(error)".contains("character 26 after mew_") && !"\(error)".contains(Self.token.dropLast())
        }
    }

    @Test("8 relays and 16 addresses are taken, one more is refused")
    func counts() throws {
        func relays(_ count: Int) -> String {
            Self.json(#""relays":[\#((0..<count).map { #""https://\#($0)""# }.joined(separator: ","))]"#)
        }
        func addresses(_ count: Int) -> String {
            Self.json(#""addrs":[\#((0..<count).map { #""10.0.0.1:\#($0 + 1)""# }.joined(separator: ","))]"#)
        }
        #expect(try PairingPayload(parsing: relays(8)).relays.count == 8)
        #expect(throws: PairingPayloadError.part(.relays, "has 9 entries; 8 are allowed")) {
            try PairingPayload(parsing: relays(9))
        }
        #expect(try PairingPayload(parsing: addresses(16)).addresses.count == 16)
        #expect(throws: PairingPayloadError.part(.addrs, "has 17 entries; 16 are allowed")) {
            try PairingPayload(parsing: addresses(17))
        }
    }

    @Test("a payload of 8 KiB is read, one byte more is refused; a relay URL of 256 bytes and 257")
    func sizes() throws {
        let padding = String(repeating: " ", count: PairingPayload.maxBytes - Self.full.utf8.count)
        #expect(try PairingPayload(parsing: Self.full + padding).name == "desk")
        #expect(throws: PairingPayloadError.tooLong(bytes: 8_193)) {
            try PairingPayload(parsing: Self.full + padding + " ")
        }
        func relay(_ count: Int) -> String {
            Self.json(#""relay":"https://\#(String(repeating: "a", count: count - 8))""#)
        }
        #expect(try PairingPayload(parsing: relay(256)).relays.first?.utf8.count == 256)
        #expect(throws: PairingPayloadError.part(.relay, "is longer than 256 bytes")) {
            try PairingPayload(parsing: relay(257))
        }
    }
}

@Suite("Pairing tokens")
struct PairingTokenTests {
    @Test("a new token has the shape that stock mew uses, and parses")
    func shape() throws {
        let token = PairingToken(entropy: SystemEntropy())
        #expect(token.revealed.hasPrefix("mew_") && token.revealed.utf8.count == 30)
        #expect(PairingToken(token.revealed) != nil)
        #expect(PairingToken(entropy: SystemEntropy()).revealed != token.revealed)
    }

    @Test("near misses are no tokens")
    func nearMisses() {
        let good = PairingPayloadTests.token
        for text in [
            "", "mew_", String(good.dropLast()), good + "0", good.lowercased(), "MEW_" + good.dropFirst(4),
            good.dropLast() + "O", good + " ", "mew_8" + good.dropFirst(5),
        ] {
            #expect(PairingToken(text) == nil)
        }
    }

    @Test("a token matches the digest of itself only")
    func digest() throws {
        let token = try #require(PairingToken(PairingPayloadTests.token))
        #expect(token.digest == SHA256.digest(Array(PairingPayloadTests.token.utf8)))
        #expect(token.matches(digest: PairingToken.digest(of: PairingPayloadTests.token)))
        #expect(!token.matches(digest: PairingToken.digest(of: PairingPayloadTests.token + " ")))
    }

    @Test("nothing prints a token")
    func redacted() throws {
        let payload = try PairingPayload(parsing: PairingPayloadTests.full)
        var dumped = ""
        dump(payload, to: &dumped)
        for text in ["\(payload)", String(reflecting: payload), dumped, "\(try #require(payload.token))"] {
            #expect(!text.contains("01ARZ3"))
        }
    }
}

extension String {
    fileprivate func replacingFirst(_ part: String, with replacement: String) -> String {
        guard let start = indices.first(where: { self[$0...].hasPrefix(part) }) else { return self }
        return self[..<start] + replacement + self[start...].dropFirst(part.count)
    }
}
