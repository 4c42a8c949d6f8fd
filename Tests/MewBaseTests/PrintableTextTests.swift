import MewBase
import Testing

@Suite("Text from peers")
struct PrintableTextTests {
    @Test(
        "escapes, line breaks and bidirectional marks are replaced",
        arguments: [
            "\u{1B}", "\n", "\r", "\u{7F}", "\u{9B}", "\u{202E}", "\u{2066}", "\u{200F}", "\u{2028}", "\u{200B}",
        ])
    func dangerousScalarsAreReplaced(scalar: String) {
        #expect("a\(scalar)b".printable(limit: 10) == "a\u{FFFD}b")
    }

    @Test("ordinary text of any script stays as it is", arguments: ["Ada's phone", "Größe", "電話 №1", "télé — ok"])
    func ordinaryTextStays(text: String) {
        #expect(text.printable(limit: 64) == text)
    }

    @Test("64 scalars pass whole, the 65th cuts")
    func namesAreCut() {
        let fits = String(repeating: "x", count: 64)
        #expect(fits.printableName == fits)
        #expect((fits + "x").printableName == String(repeating: "x", count: 63) + "…")
    }

    @Test("combining marks count, so that one character cannot be endless")
    func combiningMarksCount() {
        let tower = "e" + String(repeating: "\u{301}", count: 1_000)
        #expect(tower.printable(limit: 8).unicodeScalars.count == 8)
    }

    @Test("white space around a name is dropped")
    func spaceAroundNamesIsDropped() {
        #expect("  laptop ".printableName == "laptop")
        #expect("   ".printableName == "")
    }
}
