import MewBase
import MewIdentity
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

    @Test("a table goes on below with a sentence that is too long for its column, between words")
    func sentencesInTables() {
        var table = TextTable(["#", "STATE", "SINCE"], flexible: 1, hasSentences: true)
        table.add(["1", "unknown: nobody knows", "1 h ago"])
        table.add(["2", "unpronounceable", "2 h ago"])
        #expect(
            table.lines(width: 21) == [
                "#  STATE      SINCE", "1  unknown:   1 h ago", "   nobody", "   knows", "2  unpronou…  2 h ago",
            ])
        #expect(table.lines(width: .max)[1] == "1  unknown: nobody knows  1 h ago")
    }

    @Test("a sentence is broken between words at the width of the terminal, and into a pipe goes whole")
    func sentences() {
        let sentence = "could not reach desk: no answer. Run 'mew pair' on its machine."
        func printed(_ columns: Int?) -> [String] {
            let (out, err) = (LineCollector(), LineCollector())
            let output = Output(isJSON: false, standard: out, errors: err, columns: columns, errorColumns: columns)
            output.sentence("  " + sentence)
            output.note(sentence)
            output.note(verbatim: sentence)
            #expect(err.lines.last == sentence)
            #expect(out.lines.joined(separator: " ").split(separator: " ").joined(separator: " ") == sentence)
            return Array(err.lines.dropLast())
        }
        #expect(printed(nil) == [sentence] && printed(63) == [sentence])
        #expect(printed(62) == ["could not reach desk: no answer. Run 'mew pair' on its", "machine."])
        #expect(printed(41) == ["could not reach desk: no answer. Run", "'mew pair' on its machine."])
        #expect(printed(8).suffix(5) == ["answer.", "Run", "'mew pair'", "on its", "machine."])
    }

    @Test("a command that is longer than a line stays whole, so that what is copied is all of it")
    func commands() {
        let node = String(repeating: "y", count: 52)
        let command = "'mew add \(node) --relay https://relay.example.test/ --relay-token TEXT',"
        #expect(displayWidth(command) > 80)
        let lines = LineBreaks.lines("Give it a new one with \(command) or ask.", width: 80)
        #expect(lines == ["Give it a new one with", command, "or ask."])
    }

    @Test("lines that are broken keep their indentation, and the spaces within them")
    func indentation() {
        #expect(LineBreaks.lines("  one two three", width: 9, indent: 2) == ["  one two", "  three"])
        #expect(LineBreaks.lines("relays   one, two", width: 13, indent: 9) == ["relays   one,", "         two"])
        #expect(LineBreaks.lines("東京 東京", width: 8) == ["東京", "東京"])
        #expect(LineBreaks.lines("", width: 8) == [""])
        #expect(LineBreaks.lines("unpronounceable", width: 8, start: 4) == ["unpronounceable"])
    }

    @Test("two devices of one name are told apart by the end of the second one's node ID")
    func distinctNames() throws {
        let nodes = try (1...3).map { try #require(SecretKey(seed: [UInt8](repeating: $0, count: 32))).node }
        let names = DistinctNames(zip(nodes, ["phone", "Phone", "desk"]).map { ($0, $1) })
        let longer = "Phone-\(nodes[1].z32.suffix(4))"
        #expect(nodes.map { names[$0] } == ["phone", longer, "desk"])
        // Whoever has chosen just that name keeps it, wherever it stands.
        let devices = [(nodes[0], "phone"), (nodes[1], "phone"), (nodes[2], longer.lowercased())]
        for order in [[0, 1, 2], [2, 0, 1]] {
            let names = DistinctNames(order.map { devices[$0] })
            #expect(nodes.map { names[$0] } == ["phone", "\(longer.lowercased())-2", longer.lowercased()])
        }
    }

    @Test("a device that turns up later under a name that is shown already gets a longer one, and keeps it")
    func laterNames() throws {
        let nodes = try (1...3).map { try #require(SecretKey(seed: [UInt8](repeating: $0, count: 32))).node }
        func by(_ index: Int, _ name: String) -> By { By(node: nodes[index], name: name, clientKind: .cli) }
        var names = DistinctNames([(nodes[0], "vm")])
        let longer = "VM-\(nodes[1].z32.suffix(4))"
        #expect(names.name(of: by(1, "VM")) == longer && names.name(of: by(0, "vm")) == "vm")
        #expect(names.name(of: by(1, "VM")) == longer && names.name(of: by(2, "desk")) == "desk")
        // Who was given another name is shown under it.
        #expect(names.name(of: by(1, "lab")) == "lab" && names.name(of: by(0, "vm")) == "vm")
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

    @Test("elements may have numbers of their own; one that is the end of another's ID as well is not guessed")
    func ownNumbers() {
        let numbered = Selection(elements: ["sess_AAAA1111", "sess_BBBB"], noun: "session") {
            [7: "sess_BBBB", 1_111: "sess_BBBB"][$0]
        } id: {
            $0
        }
        guard case .found("sess_BBBB") = numbered.find("7") else { return #expect(Bool(false), "its number") }
        guard case .none = numbered.find("1") else { return #expect(Bool(false), "its place") }
        guard case .ambiguous = numbered.find("1111") else { return #expect(Bool(false), "guessed") }
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
