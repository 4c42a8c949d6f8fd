import MewBase
import MewWire
import Testing

@testable import mew

@Suite("Words on the screen")
struct OutputTests {
    @Test("an age is one unit, rounded down, and never negative")
    func ages() {
        let boundaries: [(Int64, String)] = [
            (0, "just now"), (999, "just now"), (1_000, "1 s ago"), (59_999, "59 s ago"), (60_000, "1 min ago"),
            (3_599_999, "59 min ago"), (3_600_000, "1 h ago"), (86_399_999, "23 h ago"), (86_400_000, "1 day ago"),
            (172_799_999, "1 day ago"), (172_800_000, "2 days ago"), (-5_000, "just now"),
        ]
        for (elapsed, words) in boundaries { #expect(Words.ago(0, now: elapsed) == words) }
        #expect(Words.ago(nil, now: 5) == "never")
    }

    @Test("round trips show microseconds")
    func roundTrips() {
        #expect(Words.roundTrip(.microseconds(1_250)) == "1.250 ms")
        #expect(Words.roundTrip(.nanoseconds(62_900)) == "0.062 ms")
    }

    @Test("a table gives up width only in its flexible column")
    func tables() {
        var table = TextTable(["ID", "TITLE", "STATE"], flexible: 1)
        table.add(["1", "a title that is much longer than the screen", "idle"])
        #expect(table.lines(width: 30) == ["ID  TITLE                STATE", "1   a title that is mu…  idle"])
        for line in table.lines(width: 30) { #expect(displayWidth(line) <= 30) }
        #expect(table.lines(width: 80)[1] == "1   a title that is much longer than the screen  idle")
    }

    @Test("wide characters take two columns, and cutting respects them")
    func wideCharacters() {
        #expect(displayWidth("東京") == 4)
        var table = TextTable(["N"], flexible: 0)
        table.add(["東京東京東京東京東京"])
        #expect(displayWidth(table.lines(width: 9)[1]) <= 9)
    }

    @Test("JSON on a screen has no character that a terminal would interpret, and reads back as the same")
    func json() throws {
        let text = "a\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{85}\u{7f}\u{2028}\u{e0001}👩\u{200d}🔬é\n"
        let out = LineCollector()
        Output(isJSON: true, standard: out, errors: LineCollector()).json(["text": .string(text)])
        #expect(out.text.dropLast().unicodeScalars.allSatisfy { $0.isPrintable })
        #expect(out.text.contains("👩") && out.text.contains("é") && out.text.contains("\\u202e"))
        #expect(try JSON(parsing: out.lines[0])["text"] == .string(text))
    }

    @Test("shell quoting survives quotes, spaces and braces")
    func shellQuoting() {
        #expect(shellQuoted("laptop") == "laptop")
        #expect(shellQuoted("mew001:{\"a\":1}") == "'mew001:{\"a\":1}'")
        #expect(shellQuoted("it's") == "'it'\\''s'")
        #expect(shellQuoted("") == "''")
    }
}

@Suite("Choosing by ID, number or ending")
struct SelectionTests {
    private let selection = Selection(elements: ["sess_AAAA1111", "sess_BBBB1111", "sess_CC2222"], noun: "session") {
        $0
    }

    private func found(_ text: String) -> String? {
        if case .found(let element) = selection.find(text) { element } else { nil }
    }

    @Test("a full ID, a list number and a unique ending of four characters find one")
    func finds() {
        #expect(found("sess_CC2222") == "sess_CC2222")
        #expect(found("2") == "sess_BBBB1111")
        #expect(found("2222") == "sess_CC2222")
        #expect(found("a1111") == "sess_AAAA1111")
    }

    @Test("three characters, two matches, and numbers outside the list find none")
    func refuses() {
        guard case .tooShort = selection.find("c22") else { return #expect(Bool(false), "too short") }
        guard case .ambiguous(let both) = selection.find("1111") else { return #expect(Bool(false), "ambiguous") }
        #expect(both.count == 2)
        #expect(found("0") == nil)
        #expect(found("4") == nil)
        #expect(found("zzzz") == nil)
    }
}

@Suite("The QR code")
struct QRCodeTests {
    @Test("it has a two-cell border and the size of its version")
    func size() throws {
        let code = try #require(QRCode("computer.mew.mew://" + String(repeating: "a", count: 64)))
        #expect((code.width - 17) % 4 == 0)
        let lines = code.lines()
        #expect(lines.count == code.rows)
        #expect(lines[0].contains(String(repeating: " ", count: code.columns)), "the first two rows are border")
    }

    @Test("text that fits no code gives none")
    func tooLong() {
        #expect(QRCode(String(repeating: "x", count: 2_953)) != nil)
        #expect(QRCode(String(repeating: "x", count: 2_954)) == nil)
    }
}
