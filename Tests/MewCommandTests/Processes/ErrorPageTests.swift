import MewTestSupport
import MewWire
import Testing

@testable import mew

@Suite("The page of errors")
struct ErrorPageTests {
    @Test("lists every case that the program was made to tell, word for word, and nothing else")
    func isTheTable() throws {
        let page = try RepositoryFile.text(of: "ERRORS.md").split(separator: "\n").map(String.init)
        let rows = page.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| case") }
        let wanted = ErrorTable.chapters.flatMap { $0.cases.map(\.row) }
        for row in wanted where !rows.contains(row) { Issue.record("missing: \(row)") }
        for row in rows where !wanted.contains(row) { Issue.record("nobody tests: \(row)") }
        #expect(rows.count == wanted.count)
        #expect(page.filter { $0.hasPrefix("## ") } == ErrorTable.chapters.map { "## " + $0.title })
    }

    @Test("a sentence matches with its values and free parts, and not with one word more or less")
    func matching() {
        let row = ErrorCase("x", .busy, "reach {name} at {any}: gone.")
        let values = ["name": "desk"]
        #expect(row.matches("mew: ", "mew: reach desk at 1.2.3.4: gone.", values))
        #expect(!row.matches("mew: ", "mew: reach lamp at 1.2.3.4: gone.", values))
        #expect(!row.matches("mew: ", "mew: reach desk at 1.2.3.4: gone. Really.", values))
        #expect(!row.matches("mew: ", "reach desk at 1.2.3.4: gone.", values))
        #expect(!row.matches("mew: ", "mew: now reach desk at 1.2.3.4: gone.", values))
        #expect(ErrorCase("x", .busy, "gone {why}").matches("", "gone for ever"))
    }
}
