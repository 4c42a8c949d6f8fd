import MewWire
import Testing

@testable import mew

/// Makes the cases of one chapter of the table happen, and compares what the real program says and how it ends.
final class ErrorPlay {
    private let chapter: ErrorTable.Chapter
    private var played: Set<String> = []

    init(_ chapter: ErrorTable.Chapter) {
        self.chapter = chapter
    }

    /// One command that fails as the row says, for people and for programs.
    func expect(
        _ name: String, _ machine: RealMachine, _ words: String..., values: [String: String] = [:]
    ) async throws {
        let values = values.merging(["home": machine.home]) { own, _ in own }
        let plain = try await machine.run(words)
        let result = try await machine.run(words + ["--json"])
        compare(name, result, values)
        #expect(plain.exit == result.exit && plain.sentences.count == 1, "\(name): \(plain.err)")
        #expect(self[name]?.matches("mew: ", plain.errLines.last ?? "", values) == true, "\(name): \(plain.err)")
        #expect(!plain.out.contains("\"error\""), "\(name): \(plain.out)")
    }

    /// A command that is running already, with `--json`, and ends as the row says.
    func expect(_ name: String, _ process: RealProcess, values: [String: String] = [:]) async {
        compare(name, await .init(of: process), values)
    }

    private subscript(name: String) -> ErrorCase? { chapter.cases.first { $0.name == name } }

    private func compare(_ name: String, _ result: RealMachine.Result, _ values: [String: String]) {
        guard let row = self[name] else {
            Issue.record("'\(name)' is not in the chapter \(chapter.title)")
            return
        }
        #expect(played.insert(name).inserted, "\(name) is played twice")
        #expect(result.exit == row.code.exitStatus, "\(name): \(result.err)")
        #expect(result.sentences.count == 1, "\(name): one sentence, not \(result.err)")
        #expect(row.matches("mew: ", result.errLines.last ?? "", values), "\(name): \(result.err)")
        let error = result.objects.last?["error"]
        #expect(error?["code"] == .string(row.code.rawValue), "\(name): \(result.out)")
        let told = [error?["message"]?.asString, error?["hint"]?.asString].compactMap { $0 }
        #expect(told.allSatisfy { result.err.contains($0) }, "\(name): the object says something else: \(result.out)")
        #expect(error?["message"]?.asString?.isEmpty == false)
    }

    /// Every row has been played.
    func end() {
        #expect(Set(chapter.cases.map(\.name)).subtracting(played) == [])
    }
}

extension RealMachine.Result {
    /// As of `LineCollector`.
    var sentences: [String] { LineCollector.sentences(of: errLines) }
}
