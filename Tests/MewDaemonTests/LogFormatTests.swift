import MewBase
import MewWire
import Testing

@testable import MewDaemon

@Suite("Log lines")
struct LogFormatTests {
    private let knock = Diagnostic(
        .warning, "pairing", "knock", "Eve\u{1B}[2J\nroot knocks",
        [
            "tries": .integer(2), "name": .text("\u{202E}evil"), "took": .duration(.milliseconds(1500)),
            "new": .flag(true),
        ])

    @Test("a line for people: time, level, part, sentence, fields in order, and nothing a terminal would obey")
    func humanLine() {
        #expect(
            LogFormat.human.line(knock, atMs: 1_757_500_000_123)
                == "2025-09-10T10:26:40.123Z warning pairing: Eve\u{FFFD}[2J\u{FFFD}root knocks "
                + "(name=\u{FFFD}evil new=true took=1500.0ms tries=2)")
    }

    @Test("a JSON line has the same, and a field cannot pose as the level")
    func jsonLine() throws {
        let diagnostic = Diagnostic(.error, "store", "not_saved", "the disk is full", ["level": .text("debug")])
        let json = try JSON(parsing: LogFormat.json.line(diagnostic, atMs: 0))
        #expect(json["level"]?.asString == "error")
        #expect(json["name"]?.asString == "not_saved")
        #expect(json["at"]?.asString == "1970-01-01T00:00:00.000Z")
        let cleaned = try JSON(parsing: LogFormat.json.line(knock, atMs: 0))
        #expect(cleaned["message"]?.asString == "Eve\u{FFFD}[2J\u{FFFD}root knocks")
        #expect(cleaned["took"]?.asDouble == 1500)
    }

    @Test("400 scalars are written, the 401st cuts")
    func longTextIsCut() {
        let long = Diagnostic(.info, "a", "b", String(repeating: "x", count: 401))
        #expect(LogFormat.human.line(long, atMs: 0).hasSuffix("a: " + String(repeating: "x", count: 399) + "…"))
    }
}
