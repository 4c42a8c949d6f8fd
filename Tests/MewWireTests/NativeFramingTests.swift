import MewWire
import Testing

@Suite("Native framing")
struct NativeFramingTests {
    static func frame(_ body: [UInt8]) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: body.count >> (24 - 8 * $0)) } + body
    }

    /// All steps that `bytes` give, handed over in pieces of `size`.
    static func steps(
        _ framing: inout NativeFraming, _ bytes: [UInt8], piece size: Int
    ) throws -> [FramingStep] {
        var steps: [FramingStep] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            framing.receive(Array(bytes[start..<min(start + size, bytes.count)]))
            while true {
                let step = try framing.next()
                guard step != .needMore else { break }
                steps.append(step)
            }
        }
        return steps
    }

    @Test("golden bytes: the length is four bytes, big endian")
    func golden() throws {
        var framing = NativeFraming()
        #expect(try framing.encode(Array("{}".utf8)) == [0, 0, 0, 2, 0x7b, 0x7d])
        #expect(try framing.encode([UInt8](repeating: 0, count: 0x010203)).prefix(4) == [0, 1, 2, 3])
        #expect(framing.encodeEnd().isEmpty && framing.takeReplies().isEmpty)
    }

    @Test("frames come out whole however the bytes are cut", arguments: 1...20)
    func cuts(size: Int) throws {
        let bodies = [[1], [2, 3], [UInt8](repeating: 4, count: 17), [5]] as [[UInt8]]
        var framing = NativeFraming()
        #expect(
            try Self.steps(&framing, bodies.flatMap(Self.frame), piece: size) == bodies.map(FramingStep.message))
        try framing.receiveEnd()
    }

    @Test("an end inside a frame is a violation, an end between frames is none")
    func truncation() throws {
        let bytes = Self.frame([1, 2, 3]) + Self.frame([4])
        for count in 0...bytes.count {
            var framing = NativeFraming()
            _ = try Self.steps(&framing, Array(bytes[..<count]), piece: 64)
            if [0, 7, 12].contains(count) {
                try framing.receiveEnd()
            } else {
                #expect(throws: ChannelError.protocolViolation("the stream ended inside a frame")) {
                    try framing.receiveEnd()
                }
            }
        }
    }

    @Test("length zero is refused, one is taken")
    func lowerBound() throws {
        var framing = NativeFraming()
        #expect(try Self.steps(&framing, [0, 0, 0, 1, 9], piece: 5) == [.message([9])])
        #expect(throws: ChannelError.protocolViolation("a frame of length zero")) {
            try Self.steps(&framing, [0, 0, 0, 0], piece: 4)
        }
    }

    @Test("8,388,608 bytes are taken, one more is refused before any of them arrives")
    func upperBound() throws {
        var framing = NativeFraming()
        let largest = [UInt8](repeating: 7, count: 8_388_608)
        #expect(try Self.steps(&framing, Self.frame(largest), piece: 65_536) == [.message(largest)])
        #expect(throws: ChannelError.tooLarge(declaredBytes: 8_388_609)) {
            try Self.steps(&framing, [0x00, 0x80, 0x00, 0x01], piece: 4)
        }
        #expect(throws: ChannelError.tooLarge(declaredBytes: 8_388_609)) { try framing.encode(largest + [7]) }
    }

    @Test("messages before a violation are still given")
    func messageBeforeViolation() throws {
        var framing = NativeFraming(maxMessageBytes: 16)
        framing.receive(Self.frame([1]) + [0xff, 0xff, 0xff, 0xff])
        #expect(try framing.next() == .message([1]))
        #expect(throws: ChannelError.tooLarge(declaredBytes: 0xffff_ffff)) { try framing.next() }
    }
}
