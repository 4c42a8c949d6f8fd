import MewIdentity
import Testing

/// spec/iroh-wire.md §1.3.
struct IdentityVector: Sendable, CustomTestStringConvertible {
    let seed: String
    let hex: String
    let base32: String
    let z32: String
    let serverName: String

    var testDescription: String { "seed \(seed.prefix(8))…" }

    static let all = [
        IdentityVector(
            seed: String(repeating: "00", count: 32),
            hex: "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29",
            base32: "hnvcppgow2sc2yvdvdicu3ynonsteflxdxrehjr2ybekdc2z3iuq",
            z32: "8pinxxgqs41n4aididenw5apqp1urfmzdztr8jt4abrkdn435ewo",
            serverName: "7dl2ff6emqi2qol3l382krodedij45bn3nh479hqo14a32qpr8kg.iroh.invalid"),
        IdentityVector(
            seed: String(repeating: "2a", count: 32),
            hex: "197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61",
            base32: "df7wwi7bnsctfrvlza4pvtk6u6e34ddwwkjagnadtp5iwpjwrvqq",
            z32: "df9sse9bp1nuftim3yhxiuk6w6r5hddsskjygpydux7esxjstioo",
            serverName: "35vmm8v1di2j5hlbp0sfljauku4rs33mma906d03jft8mf9mhlgg.iroh.invalid"),
        IdentityVector(
            seed: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            hex: "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
            base32: "aoqqpp7tzyil4hlq3umoos6atft6jvrqtosq2xy53sdgiesvgg4a",
            z32: "yqooxx9u3aemh8mo5wcqq16yufu6jitouq1o4za751dger1igghy",
            serverName: "0eggffvjpo8bs7bgrkceeiu0j5ju9lhgjeigqnotri3684il66s0.iroh.invalid"),
    ]

    var node: NodeID { get throws { try #require(NodeID(hex: hex)) } }
}

@Suite("Node ID text")
struct NodeIDTextTests {
    @Test("a node ID prints in every form as iroh prints it", arguments: IdentityVector.all)
    func prints(vector: IdentityVector) throws {
        let node = try vector.node
        #expect(node.hex == vector.hex)
        #expect(node.base32 == vector.base32)
        #expect(node.z32 == vector.z32)
        #expect("\(node)" == vector.z32)
        #expect(node.serverName == vector.serverName)
    }

    @Test("what was printed is parsed back, base32 also in capitals", arguments: IdentityVector.all)
    func parses(vector: IdentityVector) throws {
        let node = try vector.node
        for text in [vector.hex, vector.base32, vector.base32.uppercased(), vector.z32] {
            #expect(try NodeID(text: text) == node)
        }
    }

    @Test("a server name captured from a real 1.0.0 dialler")
    func capturedServerName() throws {
        let node = try #require(
            NodeID(hex: "cebe636c02bd05d910e4e614013a0391e164cada9206a5f5dd3104e4e53aa236"))
        #expect(node.serverName == "pqv66r02nk2ti474soa02eg3i7gm9imqi83abtet642e9p9qk8r0.iroh.invalid")
        #expect(node.serverName.utf8.count == 65)
    }

    @Test(
        "z-base-32 of short strings",
        arguments: [
            ([0x00], "yy"), ([0xff], "9h"), ([0xf0, 0xbf, 0xc7], "6n9hq"), ([0xd4, 0x7a, 0x04], "4t7ye"),
            (Array("hello".utf8), "pb1sa5dx"),
        ] as [([UInt8], String)])
    func zBase32(bytes: [UInt8], text: String) {
        #expect(Base32.zBase32.encode(bytes) == text)
        #expect(Base32.zBase32.decode(text) == bytes)
    }

    @Test("base32 refuses pad bits that are set and lengths no byte string has")
    func strictPadding() {
        #expect(Base32.zBase32.decode("yb") == nil)
        #expect(Base32.zBase32.decode("y") == nil)
        #expect(Base32.zBase32.decode("yyy") == nil)
        #expect(Base32.rfc4648.decode("AA") == [0])
        #expect(Base32.zBase32.decode("YY") == nil)
    }

    static let z32 = IdentityVector.all[0].z32
    static let hex = IdentityVector.all[0].hex

    @Test(
        "each near miss is refused by its own reason",
        arguments: [
            ("", .empty),
            (String(z32.dropLast()), .wrongLength(51)),
            (z32 + "o", .wrongLength(53)),
            (String(hex.dropLast()), .wrongLength(63)),
            (hex.uppercased(), .wrongCharacter("B", position: 2, .hex)),
            (z32.uppercased(), .wrongCharacter("P", position: 2, .zBase32)),
            ("0" + z32.dropFirst(), .wrongCharacter("0", position: 1, .zBase32)),
            (z32.prefix(20) + " " + z32.suffix(31), .wrongCharacter(" ", position: 21, .zBase32)),
            (String(z32.dropLast()) + "b", .wrongLastCharacter),
            ("1" + IdentityVector.all[0].base32.dropFirst(), .wrongCharacter("1", position: 1, .base32)),
            // y = 2 is no coordinate of a curve point.
            ("02" + String(repeating: "00", count: 31), .notAKey),
            // The neutral element: a small-order point under which anything could be signed.
            ("01" + String(repeating: "00", count: 31), .notAKey),
        ] as [(String, NodeIDTextError)])
    func nearMisses(text: String, error: NodeIDTextError) {
        #expect(throws: error) { try NodeID(text: text) }
    }

    @Test("a refusal is a sentence that names the part and disturbs no terminal")
    func sentences() {
        let lookAlike = NodeIDTextError.wrongCharacter("0", position: 7, .zBase32)
        #expect(lookAlike.description.contains("character 7"))
        #expect(lookAlike.description.contains("did you mean \"o\"?"))
        let escape = NodeIDTextError.wrongCharacter("\u{1b}", position: 1, .hex)
        #expect(escape.description.contains("U+1B"))
        #expect(!escape.description.unicodeScalars.contains("\u{1b}"))
    }

    @Test("hex in messages is taken without the curve check, but only lower case and whole")
    func messageHex() {
        #expect(NodeID(hex: String(repeating: "02", count: 32)) != nil)
        #expect(NodeID(hex: Self.hex.uppercased()) == nil)
        #expect(NodeID(hex: Self.hex + "00") == nil)
    }

    @Test("the public key in TLS form is 44 bytes and reads back")
    func spki() throws {
        let node = try IdentityVector.all[1].node
        #expect(Hex.encode(node.spki) == "302a300506032b6570032100" + IdentityVector.all[1].hex)
        #expect(NodeID(spki: node.spki) == node)
        #expect(NodeID(spki: node.spki + [0]) == nil)
        #expect(NodeID(spki: node.spki.dropLast()) == nil)
        #expect(NodeID(spki: [0x31] + node.spki.dropFirst()) == nil)
    }

    @Test("node IDs sort by their bytes")
    func order() throws {
        let nodes = try IdentityVector.all.map { try $0.node }
        #expect(nodes.sorted().map(\.hex) == nodes.map(\.hex).sorted())
    }
}
