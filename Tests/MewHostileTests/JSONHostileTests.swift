import MewTestSupport
import MewWire
import Testing

/// JSON under damaged bytes: what is accepted is written again and read as the same value.
@Suite("Hostile bytes: JSON")
struct JSONHostileTests {
    private static let corpus: [[UInt8]] = [
        "null", "-12.5e-3", "9007199254740991", "\"\\ud83d\\ude00 \\u0041\\n naïve 🐈 and plain text\"", "[[[[[[]]]]]]",
        "[1,-2,3.5,true,false,null,\"\",{}]", "{\"a\":{\"b\":{\"c\":[0]}},\"a\":1,\"é\":2}",
        "{" + (0..<30).map { "\"k\($0)\":\($0)" }.joined(separator: ",") + "}",
        "{\"type\":\"prompt\",\"text\":\"Run the tests\",\"attachments\":[{\"path\":\"/tmp/a\",\"mime\":\"image/png\"}]}",
        " [ 1 , { \"x\" : \"y\" } ]\n",
    ].map { Array($0.utf8) }

    @Test("JSON texts")
    func texts() async {
        HostileRun.show(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try JSONHostileTests.runTexts()
            })
    }

    static func runTexts() throws {
        // Small enough that mutations run into each of them.
        let limits = JSON.Limits(maxBytes: 260, maxNesting: 6, maxValues: 31)
        try HostileRun(name: "JSON").run(
            corpus: Self.corpus, seed: 11,
            stages: ["refused at the first byte", "refused later", "over a limit", "read"]
        ) { _, input in
            do throws(JSONError) {
                let value = try JSON(parsing: input, limits: limits)
                Self.check(value)
                return "read"
            } catch {
                HostileRun.require((0...input.count).contains(error.offset), "noticed outside of the text: \(input)")
                if error.problem.contains("more than") || error.problem.contains("deeper") { return "over a limit" }
                return error.offset == 0 ? "refused at the first byte" : "refused later"
            }
        }
    }

    private static func check(_ value: JSON) {
        let text = value.utf8
        HostileRun.require((try? JSON(parsing: text)) == value, "not the same value again: \(text)")
        HostileRun.require((try? JSON(parsing: text))?.utf8 == text, "not the same text again: \(text)")
    }
}
