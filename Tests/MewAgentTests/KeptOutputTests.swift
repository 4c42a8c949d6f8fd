import Testing

@testable import MewAgent

@Suite("What is kept of an output")
struct KeptOutputTests {
    private static let limit = KeptOutput.headBytes + KeptOutput.tailBytes

    private func kept(_ pieces: String...) -> KeptOutput {
        var kept = KeptOutput()
        for piece in pieces { kept.append(piece) }
        return kept
    }

    @Test("output up to the bound is kept whole, one byte more loses that byte in the middle")
    func bound() {
        let whole =
            String(repeating: "h", count: KeptOutput.headBytes) + String(repeating: "t", count: KeptOutput.tailBytes)
        #expect(kept(whole).text == whole)
        let text = kept(whole, "e").text
        #expect(text.hasPrefix(String(repeating: "h", count: KeptOutput.headBytes) + "\n… 1 bytes left out …\n"))
        #expect(text.hasSuffix("te"))
    }

    @Test("the text does not depend on how the output was cut into pieces")
    func pieces() {
        let output = (0..<20_000).map { "line \($0)\n" }.joined()
        let whole = kept(output).text
        for size in [1, 7, 4_096, 65_536] {
            var kept = KeptOutput()
            var rest = Substring(output)
            while !rest.isEmpty {
                kept.append(String(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            #expect(kept.text == whole)
        }
        #expect(whole.hasPrefix("line 0\n") && whole.hasSuffix("line 19999\n"))
    }

    @Test("characters at the cuts stay whole, and the count of missing bytes is exact")
    func wholeCharacters() {
        let output = "a" + String(repeating: "€", count: 40_000)
        let text = kept(output).text
        #expect(!text.contains("\u{fffd}"))
        let parts = text.split(separator: "\n")
        let missing = output.utf8.count - parts[0].utf8.count - parts[2].utf8.count
        #expect(parts[1] == "… \(missing) bytes left out …")
        #expect(parts[0].utf8.count <= KeptOutput.headBytes && parts[2].utf8.count <= KeptOutput.tailBytes)
    }

    @Test("a gigabyte costs no more than the bound")
    func flood() {
        var kept = KeptOutput()
        let piece = String(repeating: "y\n", count: 32 << 10)
        for _ in 0..<16_384 { kept.append(piece) }
        #expect(kept.totalBytes == 1 << 30)
        #expect(kept.text.utf8.count < Self.limit + 64)
    }

    @Test("nothing is nothing")
    func empty() {
        #expect(kept().text == "")
        #expect(kept("").text == "")
    }
}
