/// Help is generated from the tables, so that it cannot drift from what is parsed. At most 80 columns.
enum HelpText {
    static let width = 80

    static func usage(of command: Command) -> String {
        let words = command.positionals.map { positional in
            switch positional.arity {
            case .one: positional.name
            case .optional: "[\(positional.name)]"
            case .oneOrMore: "\(positional.name)…"
            case .any: "[\(positional.name)…]"
            }
        }
        let options = command.options.map { "[\(label($0))]" + ($0.repeats ? "…" : "") }
        return (["mew", command.name] + words + options).joined(separator: " ")
    }

    static func of(_ command: Command) -> String {
        var blocks = ["mew \(command.name): \(command.summary)", usageBlock(command)]
        if !command.positionals.isEmpty {
            blocks.append(table(command.positionals.map { ($0.name, $0.help) }))
        }
        let options = (command.options + GlobalOptions.all).map { (label($0), $0.help) }
        blocks.append(table(options))
        blocks += command.details.map { wrap($0, indent: 0).joined(separator: "\n") }
        if !command.examples.isEmpty {
            blocks.append((["Examples:"] + command.examples.map { "  \($0)" }).joined(separator: "\n"))
        }
        return blocks.joined(separator: "\n\n")
    }

    static func overview(of commands: [Command], under path: [String]) -> String {
        let isShort = path.isEmpty
        let members = commands.filter { $0.path.starts(with: path) && !(isShort && $0.path.first == "bench") }
        let rows =
            members.map { ($0.name, $0.summary) } + (isShort ? [("bench …", "measure; see 'mew help bench'")] : [])
        let title =
            path.isEmpty
            ? "mew: reach the coding agents on your machines, from any of your machines."
            : "mew \(path.joined(separator: " ")): one of these commands."
        return [
            title,
            table(rows),
            "'mew help COMMAND' shows what a command takes.",
        ].joined(separator: "\n\n")
    }

    // MARK: Layout

    private static func label(_ option: OptionSpec) -> String {
        let short = option.short.map { "-\($0), " } ?? ""
        return short + "--\(option.name)" + (option.placeholder.map { " \($0)" } ?? "")
    }

    private static func usageBlock(_ command: Command) -> String {
        let lines = wrap("usage: " + usage(of: command), indent: 11)
        return lines.joined(separator: "\n")
    }

    private static func table(_ rows: [(String, String)]) -> String {
        let column = min(26, (rows.map { $0.0.count }.max() ?? 0) + 2)
        return rows.map { name, help in
            var lines = wrap(help, indent: column + 2, firstColumn: column + 2)
            let label = "  " + name
            if name.count + 2 > column {
                lines[0] = String(repeating: " ", count: column + 2) + lines[0]
                lines.insert(label, at: 0)
            } else {
                lines[0] = label + String(repeating: " ", count: column - name.count) + lines[0]
            }
            return lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private static func wrap(_ text: String, indent: Int, firstColumn: Int = 0) -> [String] {
        LineBreaks.lines(text, width: width, indent: indent, start: firstColumn)
    }
}
