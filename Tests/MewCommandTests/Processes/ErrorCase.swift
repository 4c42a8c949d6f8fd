import MewWire

@testable import mew

/// One row of the page of errors (ERRORS.md): what went wrong, what people read, what programs read.
struct ErrorCase: Sendable {
    let name: String
    let code: ErrorCode
    /// Without the leading `mew: `. What stands in braces varies: a value the scene knows, or anything.
    let sentence: String

    init(_ name: String, _ code: ErrorCode, _ sentence: String) {
        (self.name, self.code, self.sentence) = (name, code, sentence)
    }

    /// Its line in the table of the page.
    var row: String { "| \(name) | \(code.exitStatus) `\(code.rawValue)` | \(sentence) |" }

    private enum Part: Equatable {
        case text(String)
        case anything
    }

    /// Whether `text` is the sentence after `prefix`, with the values in it.
    func matches(_ prefix: String, _ text: String, _ values: [String: String] = [:]) -> Bool {
        guard text.hasPrefix(prefix) else { return false }
        var rest = text.dropFirst(prefix.count)
        var isFree = false
        for part in parts(values) {
            guard case .text(let wanted) = part else {
                isFree = true
                continue
            }
            guard let found = rest.firstRange(of: wanted), isFree || found.lowerBound == rest.startIndex else {
                return false
            }
            (rest, isFree) = (rest[found.upperBound...], false)
        }
        return isFree || rest.isEmpty
    }

    private func parts(_ values: [String: String]) -> [Part] {
        sentence.split(separator: "{", omittingEmptySubsequences: false).enumerated().flatMap {
            index, piece -> [Part] in
            guard index > 0, let end = piece.firstIndex(of: "}") else {
                return piece.isEmpty ? [] : [.text(String(piece))]
            }
            let tail = piece[piece.index(after: end)...]
            let value = values[String(piece[..<end])].map { Part.text($0) } ?? .anything
            return [value] + (tail.isEmpty ? [] : [.text(String(tail))])
        }
    }
}
