import MewBase
import MewWire
import Testing

/// Frames written by hand, so that wslay does not check itself.
struct HandFrame {
    var final = true
    var reserved: UInt8 = 0
    var opcode: UInt8 = 1
    var payload: [UInt8] = []
    var mask: [UInt8]?
    /// Overrides the length form: 0, 126 or 127.
    var form: UInt8?

    var bytes: [UInt8] {
        let masked = mask == nil ? 0 : UInt8(0x80)
        let natural: UInt8 = payload.count < 126 ? 0 : payload.count < 65_536 ? 126 : 127
        var bytes = [(final ? 0x80 : 0) | reserved << 4 | opcode]
        switch form ?? natural {
        case 0: bytes.append(masked | UInt8(payload.count))
        case 126: bytes += [masked | 126] + Self.bigEndian(payload.count, 2)
        default: bytes += [masked | 127] + Self.bigEndian(payload.count, 8)
        }
        guard let mask else { return bytes + payload }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    static func bigEndian(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
    }
}

@Suite("WebSocket framing")
struct WebSocketFramingTests {
    static let mask: [UInt8] = [0x37, 0xfa, 0x21, 0x3d]
    static let hello = Array("Hello".utf8)

    static func framing(_ role: WebSocketFraming.Role = .server, max: Int = 1_024) -> WebSocketFraming {
        WebSocketFraming(role: role, maxMessageBytes: max, entropy: CountingEntropy())
    }

    /// What the frames amount to, handed over in pieces of `size` bytes.
    static func steps(_ framing: WebSocketFraming, _ bytes: [UInt8], piece size: Int = .max) throws -> [FramingStep] {
        var steps: [FramingStep] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            framing.receive(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
            while case let step = try framing.next(), step != .needMore { steps.append(step) }
        }
        return steps
    }

    @Test("RFC 6455 §5.7: text masked by a client, plain from a server, in fragments")
    func rfcExamples() throws {
        let masked: [UInt8] = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]
        #expect(try Self.steps(Self.framing(.server), masked) == [.message(Self.hello)])
        let plain: [UInt8] = [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]
        #expect(try Self.steps(Self.framing(.client), plain) == [.message(Self.hello)])
        let fragments: [UInt8] = [0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f]
        #expect(try Self.steps(Self.framing(.client), fragments) == [.message(Self.hello)])
    }

    @Test("a server writes plain text frames, a client masked ones")
    func writes() throws {
        #expect(try Self.framing(.server).encode(Self.hello) == [0x81, 0x05] + Self.hello)
        let masked = HandFrame(payload: Self.hello, mask: [1, 2, 3, 4])
        #expect(try Self.framing(.client).encode(Self.hello) == masked.bytes)
    }

    @Test(
        "messages of every length form pass between our own two ends",
        arguments: [0, 125, 126, 65_535, 65_536, 200_000])
    func lengths(count: Int) throws {
        let message = [UInt8](repeating: 0x61, count: count)
        let client = Self.framing(.client, max: 200_000)
        let server = Self.framing(.server, max: 200_000)
        #expect(try Self.steps(server, client.encode(message), piece: 1_000) == [.message(message)])
        #expect(try Self.steps(client, server.encode(message), piece: 1_000) == [.message(message)])
        try server.receiveEnd()
        try client.receiveEnd()
    }

    @Test("messages come out whole however the bytes are cut", arguments: 1...20)
    func cuts(size: Int) throws {
        let frames = [
            HandFrame(payload: [0x61], mask: Self.mask), HandFrame(opcode: 2, payload: [0xff, 0xfe], mask: Self.mask),
            HandFrame(final: false, payload: [0x62], mask: Self.mask),
            HandFrame(opcode: 9, payload: [1], mask: Self.mask),
            HandFrame(opcode: 0, payload: [0x63], mask: Self.mask), HandFrame(payload: [], mask: Self.mask),
        ]
        let framing = Self.framing()
        #expect(
            try Self.steps(framing, frames.flatMap(\.bytes), piece: size)
                == [.message([0x61]), .message([0xff, 0xfe]), .message([0x62, 0x63]), .message([])])
        #expect(framing.takeReplies() == HandFrame(opcode: 10, payload: [1]).bytes)
        try framing.receiveEnd()
    }

    @Test("a ping is answered with its payload, a pong is ignored")
    func ping() throws {
        let framing = Self.framing(.client)
        let pings = HandFrame(opcode: 9, payload: Self.hello).bytes + HandFrame(opcode: 10, payload: [1]).bytes
        #expect(try Self.steps(framing, pings) == [])
        #expect(framing.takeReplies() == HandFrame(opcode: 10, payload: Self.hello, mask: [1, 2, 3, 4]).bytes)
        #expect(framing.takeReplies() == [])
    }

    @Test("a close ends the messages and is answered; nothing after it counts, and nothing more is sent")
    func close() throws {
        let framing = Self.framing()
        let bytes =
            HandFrame(payload: [0x61], mask: Self.mask).bytes
            + HandFrame(opcode: 8, payload: [0x03, 0xe8], mask: Self.mask).bytes
            + HandFrame(payload: [0x62], mask: Self.mask).bytes
        #expect(try Self.steps(framing, bytes) == [.message([0x61]), .ended])
        #expect(framing.takeReplies() == [0x88, 0x02, 0x03, 0xe8])
        #expect(throws: ChannelError.finished) { try framing.encode([0x61]) }
        #expect(framing.encodeEnd() == [])
        try framing.receiveEnd()
    }

    @Test(
        "a close ends the messages whatever it says and however it is cut",
        arguments: [
            [], [0x03], [0x03, 0xed], [0x03, 0xe8] + Array("aé".utf8), [0x03, 0xe8, 0xff, 0xff],
        ] as [[UInt8]])
    func anyClose(payload: [UInt8]) throws {
        let bytes = HandFrame(opcode: 8, payload: payload, mask: Self.mask).bytes
        for size in 1...bytes.count {
            let framing = Self.framing()
            #expect(try Self.steps(framing, bytes, piece: size) == [.ended])
            try framing.receiveEnd()
            #expect(framing.takeReplies().first == 0x88)
        }
        // The header alone says it.
        let framing = Self.framing()
        #expect(try Self.steps(framing, HandFrame(opcode: 8, mask: Self.mask).bytes) == [.ended])
    }

    @Test("our own end is a close without a code, once")
    func ownEnd() throws {
        let framing = Self.framing()
        #expect(framing.encodeEnd() == [0x88, 0x00])
        #expect(framing.encodeEnd() == [])
        #expect(throws: ChannelError.finished) { try framing.encode([0x61]) }
        #expect(try Self.steps(framing, HandFrame(payload: [0x61], mask: Self.mask).bytes) == [.message([0x61])])
    }

    static let violations: [(String, WebSocketFraming.Role, HandFrame)] = [
        ("an unmasked frame from a client", .server, HandFrame(payload: [0x61])),
        ("a masked frame from a server", .client, HandFrame(payload: [0x61], mask: mask)),
        ("a reserved bit", .client, HandFrame(reserved: 4, payload: [0x61])),
        ("an unknown data opcode", .client, HandFrame(opcode: 3, payload: [0x61])),
        ("an unknown control opcode", .client, HandFrame(opcode: 11, payload: [0x61])),
        ("a continuation of nothing", .client, HandFrame(opcode: 0, payload: [0x61])),
        ("a fragmented ping", .client, HandFrame(final: false, opcode: 9)),
        ("a ping of 126 bytes", .client, HandFrame(opcode: 9, payload: [UInt8](repeating: 0, count: 126))),
        ("a length in a longer form than needed", .client, HandFrame(payload: [0x61], form: 126)),
        ("text that is not UTF-8", .client, HandFrame(payload: [0xc3, 0x28])),
        ("text cut inside a character", .client, HandFrame(payload: [0xe2, 0x82])),
        ("a fragmented close", .client, HandFrame(final: false, opcode: 8)),
    ]

    @Test("each violation is an error after the messages before it, and sends a close", arguments: violations.indices)
    func violation(index: Int) throws {
        let (_, role, frame) = Self.violations[index]
        let framing = Self.framing(role)
        framing.receive(HandFrame(payload: [0x61], mask: role == .server ? Self.mask : nil).bytes + frame.bytes)
        #expect(try framing.next() == .message([0x61]))
        #expect(throws: ChannelError.self) { try framing.next() }
        #expect(throws: ChannelError.self) { try framing.next() }
        #expect(framing.takeReplies().first == 0x88)
        framing.receive(HandFrame(payload: [0x62], mask: role == .server ? Self.mask : nil).bytes)
        #expect(throws: ChannelError.self) { try framing.next() }
    }

    @Test("a new message inside an unfinished one is a violation")
    func interleaved() throws {
        let framing = Self.framing(.client)
        framing.receive(HandFrame(final: false, payload: [0x61]).bytes + HandFrame(payload: [0x62]).bytes)
        #expect(throws: ChannelError.self) { try framing.next() }
    }

    @Test("a message of the largest size passes; one byte more is refused from its header alone")
    func sizeLimit() throws {
        let largest = [UInt8](repeating: 0x61, count: 1_024)
        #expect(try Self.steps(Self.framing(.client), HandFrame(payload: largest).bytes) == [.message(largest)])
        let framing = Self.framing(.client)
        framing.receive(Array(HandFrame(payload: largest + [0x61]).bytes.prefix(5)))
        #expect(throws: ChannelError.tooLarge(declaredBytes: 1_025)) { try framing.next() }
        #expect(framing.takeReplies() == HandFrame(opcode: 8, payload: [0x03, 0xf1], mask: [1, 2, 3, 4]).bytes)
        #expect(throws: ChannelError.tooLarge(declaredBytes: 1_025)) { try Self.framing().encode(largest + [0x61]) }
    }

    @Test("fragments count together, and a length near 2^63 neither overflows nor reserves")
    func fragmentedSizeLimit() throws {
        let framing = Self.framing(.client)
        framing.receive(HandFrame(final: false, payload: [UInt8](repeating: 0x61, count: 1_024)).bytes)
        #expect(try framing.next() == .needMore)
        framing.receive(HandFrame(opcode: 0, payload: [0x61]).bytes)
        #expect(throws: ChannelError.tooLarge(declaredBytes: 1_025)) { try framing.next() }

        let huge = Self.framing(.client)
        huge.receive([0x82, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0])
        #expect(throws: ChannelError.tooLarge(declaredBytes: .max)) { try huge.next() }
    }

    @Test("an end inside a frame, a header or a fragmented message is a violation")
    func truncation() throws {
        let bytes =
            HandFrame(payload: [UInt8](repeating: 0x61, count: 130), mask: Self.mask).bytes
            + HandFrame(final: false, payload: [0x62], mask: Self.mask).bytes
            + HandFrame(opcode: 0, payload: [0x63], mask: Self.mask).bytes
        for count in 0...bytes.count {
            let framing = Self.framing()
            _ = try Self.steps(framing, Array(bytes[..<count]))
            if [0, 138, bytes.count].contains(count) {
                try framing.receiveEnd()
            } else {
                #expect(throws: ChannelError.self) { try framing.receiveEnd() }
            }
        }
    }

    @Test("a framing of binary messages writes binary ones and passes over text")
    func binaryMessages() throws {
        let one = WebSocketFraming(role: .client, kind: .binary, entropy: CountingEntropy())
        let other = WebSocketFraming(role: .server, kind: .binary, entropy: CountingEntropy())
        let text = WebSocketFraming(role: .client, entropy: CountingEntropy())
        let binary = try one.encode([1, 2, 255])
        #expect(binary.first == 0x82)
        other.receive(try text.encode(Array("passed over".utf8)) + binary)
        #expect(try other.next() == .message([1, 2, 255]))
        #expect(try other.next() == .needMore)
    }
}
