internal import MewIdentity

/// The access rules of a relay as a text file, which can be read again while it runs: one rule a line, `allow NODEID`,
/// `deny NODEID` or `token TEXT`. Empty lines, and what stands behind `#`, mean nothing.
package enum AccessFile {
    package struct Malformed: Error, Equatable, CustomStringConvertible {
        package let line: Int
        package let reason: String

        package var description: String { "line \(line): \(reason)" }
    }

    package static let maxBytes = 1 << 20

    /// Adds the rules of `text` to `rules`.
    package static func read(_ text: String, into rules: inout AccessRules) throws(Malformed) {
        // CR LF is one character.
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        for (index, line) in lines.enumerated() {
            let isRule: Bool
            do throws(NodeIDTextError) {
                isRule = try take(line, into: &rules)
            } catch {
                throw Malformed(line: index + 1, reason: error.description)
            }
            guard isRule else {
                throw Malformed(line: index + 1, reason: "a rule is 'allow NODEID', 'deny NODEID' or 'token TEXT'")
            }
        }
    }

    /// False when the line is no rule.
    private static func take(_ line: Substring, into rules: inout AccessRules) throws(NodeIDTextError) -> Bool {
        let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
        guard !words.isEmpty else { return true }
        guard words.count == 2 else { return false }
        switch words[0] {
        case "allow":
            let node = try NodeID(text: words[1])
            if rules.allowed?.insert(node) == nil { rules.allowed = [node] }
        case "deny": rules.denied.insert(try NodeID(text: words[1]))
        case "token": rules.tokens.append(String(words[1]))
        default: return false
        }
        return true
    }
}
