import Testing

@testable import MewAgent

@Suite("Text from pieces of bytes")
struct TextAssemblerTests {
    @Test("a character split at any place stays whole")
    func splitCharacter() {
        let bytes = Array("a€𝄞é".utf8)
        for cut in 0...bytes.count {
            var assembler = TextAssembler()
            let text = assembler.append(bytes[..<cut]) + assembler.append(bytes[cut...])
            #expect(text == "a€𝄞é")
            #expect(assembler.finish() == "")
        }
    }

    @Test("only the unfinished character waits")
    func waitsForRest() {
        var assembler = TextAssembler()
        #expect(assembler.append([0x61, 0xf0, 0x9d]) == "a")
        #expect(assembler.append([0x84]) == "")
        #expect(assembler.append([0x9e]) == "𝄞")
    }

    @Test("an unfinished character at the end is replaced")
    func unfinished() {
        var assembler = TextAssembler()
        #expect(assembler.append([0xe2, 0x82]) == "")
        #expect(assembler.finish() == "\u{fffd}")
    }

    @Test("a zero byte becomes a visible sign")
    func zeroByte() {
        var assembler = TextAssembler()
        #expect(assembler.append([0x61, 0, 0x62]) == "a␀b")
    }

    @Test("random bytes give the same text however they are cut", arguments: 0..<200)
    func anyCut(seed: UInt64) {
        var random = SplitMix(state: seed)
        // Half of the bytes are lead and continuation bytes, or hardly anything would be multi-byte.
        let bytes = (0..<300).map { _ in
            UInt8.random(in: Bool.random(using: &random) ? 1...255 : 0x80...0xf4, using: &random)
        }
        var assembler = TextAssembler()
        var text = ""
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...7, using: &random))
            rest = rest.dropFirst(piece.count)
            text += assembler.append(piece)
        }
        #expect(text + assembler.finish() == String(decoding: bytes, as: UTF8.self))
    }
}

/// splitmix64 (Steele, Lea, Flood 2014).
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}
