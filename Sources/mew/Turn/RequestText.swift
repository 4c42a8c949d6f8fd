import MewBase
import MewClient
import MewWire

/// A request in words: everything that is being asked, because an answer binds to it.
struct RequestText {
    private let content: Request.Content

    init(_ content: Request.Content) {
        self.content = content
    }

    /// Several lines, cleaned, without the question what to do.
    var lines: [String] {
        switch content {
        case .permission(let tool, let input):
            ["The agent wants to use \(tool.printableName):"] + Self.input(input)
        case .subagentPermission(_, let tool, let input):
            ["A subagent wants to use \(tool.printableName):"] + Self.input(input)
        case .workspacePermission(let path):
            ["The agent wants to leave the session's directory:", "  " + path.printable(limit: 4_096)]
        case .askUser(let questions):
            questions.enumerated().flatMap { Self.question($0.element, number: $0.offset + 1, of: questions.count) }
        case .planApproval(let path, let markdown, let persona):
            ["The agent has a plan (\(path.printable(limit: 200))), to be carried out as \(persona.printableName):"]
                + Self.indented(markdown)
        case .goal(let objective):
            ["The agent proposes a goal:"] + Self.indented(objective)
        }
    }

    /// What may be answered, for people.
    var choices: String {
        switch content {
        case .permission(let tool, _), .subagentPermission(_, let tool, _):
            "[o]nce, for the [s]ession (every later \(tool.printableName) in it, from any device), or [d]eny?"
        case .workspacePermission: "[o]nce or [d]eny?"
        case .askUser(let questions):
            questions.count == 1 ? "Number or text?" : "Numbers or texts, one line for each question?"
        case .planApproval: "[y]es, or [n]o with a reason?"
        case .goal: "[y]es or [n]o?"
        }
    }

    /// What stands for the answer on a command line.
    var commandLineChoices: String {
        switch content {
        case .permission, .subagentPermission: "once|session|deny"
        case .workspacePermission: "once|deny"
        case .askUser: "'TEXT'…"
        case .planApproval, .goal: "yes|no"
        }
    }

    /// A shell command is shown as one; anything else as its JSON, so that nothing is left out.
    private static func input(_ input: JSON) -> [String] {
        guard let object = input.asObject else { return indented(input.text) }
        if object.count == 1, let command = object["command"]?.asString { return indented(command, mark: "$ ") }
        return object.entries.flatMap { entry in
            let text = entry.value.asString ?? entry.value.text
            let lines = indented(text)
            guard lines.count == 1 else { return ["  \(entry.key.printable(limit: 80)):"] + lines.map { "  " + $0 } }
            return ["  \(entry.key.printable(limit: 80)): \(lines[0].dropFirst(2))"]
        }
    }

    private static func indented(_ text: String, mark: String = "") -> [String] {
        text.printableLineList.map { line in "  " + mark + line.replacingTabs }
    }

    private static func question(_ question: Question, number: Int, of count: Int) -> [String] {
        let head = (count > 1 ? "\(number). " : "") + question.prompt.printable(limit: 4_096)
        return [head]
            + question.options.enumerated().map { index, option in
                let detail = option.description.isEmpty ? "" : " (\(option.description.printable(limit: 400)))"
                return "  \(index + 1)) \(option.label.printable(limit: 400))\(detail)"
            }
    }
}

extension String {
    /// Tabs become two spaces: the width of a tab depends on where it stands, and tables and quotes are indented.
    var replacingTabs: String { split(separator: "\t", omittingEmptySubsequences: false).joined(separator: "  ") }

    /// Text of several lines with each line cleaned; tabs stay.
    var printableLines: String {
        unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in Self.printableLine(line) }.joined(separator: "\n")
    }

    /// The lines of a text, each cleaned, without its line end.
    var printableLineList: [String] {
        printableLines.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    }

    /// A carriage return at the end belongs to the line end; one inside (a progress bar) becomes a line end.
    private static func printableLine(_ line: Substring.UnicodeScalarView) -> String {
        let whole = line.last == "\r" ? line.dropLast() : line
        return whole.split(separator: "\r", omittingEmptySubsequences: false).map { piece in
            piece.split(separator: "\t", omittingEmptySubsequences: false)
                .map { String($0).printable(limit: .max) }.joined(separator: "\t")
        }.joined(separator: "\n")
    }
}
