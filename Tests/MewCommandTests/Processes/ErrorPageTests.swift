import Glibc
import MewWire
import Testing

@testable import mew

@Suite("The page of errors")
struct ErrorPageTests {
    @Test("lists every case that the program was made to tell, word for word, and nothing else")
    func isTheTable() throws {
        let page = try Self.text(of: "ERRORS.md").split(separator: "\n").map(String.init)
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

    /// A file of the repository that this test was built from.
    private static func text(of name: String) throws -> String {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let file = open("/\(root)/\(name)", O_RDONLY | O_CLOEXEC)
        try #require(file >= 0, "there is no \(name)")
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    }
}
