/// Turns the words of a command line into a command and its typed arguments.
///
/// `--name value` and `--name=value` mean the same; `--` ends the options; options may stand anywhere, the global ones also
/// before the command's name.
struct ArgumentParser {
    enum Parsed: Sendable {
        case run(Command, ParsedArguments)
        /// Help for one command, for a group (`session`), or for all (empty).
        case help([String])
        case version
    }

    let commands: [Command]

    func parse(_ words: [String]) throws(UsageError) -> Parsed {
        var rest = words[...]
        var arguments = ParsedArguments()
        while let word = rest.first, word.hasPrefix("-"), word != "-" {
            if word == "--version" || word == "-V" { return .version }
            if word == "-h" || word == "--help" {
                return .help(try helpTopic(rest.dropFirst().filter { !$0.hasPrefix("-") }))
            }
            try takeOption(from: &rest, into: &arguments, options: GlobalOptions.all, command: "mew")
        }
        guard let first = rest.first else { return .help([]) }
        if first == "version" { return .version }
        if first == "help" {
            return .help(try helpTopic(Array(rest.dropFirst())))
        }
        let asksForHelp = rest.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
        if asksForHelp, let path = knownPath(rest) { return .help(path) }
        let command = try takeCommand(from: &rest)
        try takeArguments(rest, of: command, into: &arguments)
        return .run(command, arguments)
    }

    // MARK: Commands

    /// The longest beginning of `words` that names a command or a group of commands.
    private func knownPath(_ words: ArraySlice<String>) -> [String]? {
        var path: [String] = []
        for word in words {
            guard commands.contains(where: { $0.path.starts(with: path + [word]) }) else { break }
            path.append(word)
        }
        return path.isEmpty ? nil : path
    }

    private func takeCommand(from rest: inout ArraySlice<String>) throws(UsageError) -> Command {
        guard let path = knownPath(rest) else {
            throw unknown(rest.first ?? "", among: Set(commands.compactMap(\.path.first)).sorted(), after: [])
        }
        rest = rest.dropFirst(path.count)
        if let command = commands.first(where: { $0.path == path }) { return command }
        let members = members(of: path)
        if let word = rest.first, !word.hasPrefix("-") { throw unknown(word, among: members, after: path) }
        throw UsageError(
            "'mew \(path.joined(separator: " "))' needs one of: \(members.joined(separator: ", "))",
            hint: "See 'mew help \(path.joined(separator: " "))'.")
    }

    private func unknown(_ word: String, among names: [String], after path: [String]) -> UsageError {
        let prefix = (["mew"] + path).joined(separator: " ")
        guard let near = nearestMatch(to: word, among: names) else {
            return UsageError("there is no command '\(prefix) \(word)'", hint: "See 'mew help'.")
        }
        return UsageError("there is no command '\(prefix) \(word)'", hint: "Did you mean '\(prefix) \(near)'?")
    }

    private func helpTopic(_ words: [String]) throws(UsageError) -> [String] {
        guard let first = words.first, first != "help" else { return [] }
        guard let path = knownPath(words[...]) else {
            throw unknown(first, among: Set(commands.compactMap(\.path.first)).sorted(), after: [])
        }
        let isGroup = !commands.contains { $0.path == path }
        if isGroup, words.count > path.count { throw unknown(words[path.count], among: members(of: path), after: path) }
        return path
    }

    private func members(of group: [String]) -> [String] {
        commands.filter { $0.path.starts(with: group) && $0.path.count > group.count }.map { $0.path[group.count] }
    }

    // MARK: Words and options

    private func takeArguments(
        _ words: ArraySlice<String>, of command: Command, into arguments: inout ParsedArguments
    ) throws(UsageError) {
        var rest = words
        var plain: [String] = []
        while let word = rest.first {
            if word == "--" {
                plain += rest.dropFirst()
                break
            }
            if word.hasPrefix("-"), word != "-", Int(word) == nil {
                try takeOption(
                    from: &rest, into: &arguments, options: command.options + GlobalOptions.all,
                    command: "mew \(command.name)")
            } else {
                plain.append(word)
                rest = rest.dropFirst()
            }
        }
        try assign(plain, of: command, into: &arguments)
    }

    private func takeOption(
        from rest: inout ArraySlice<String>, into arguments: inout ParsedArguments, options: [OptionSpec],
        command: String
    ) throws(UsageError) {
        let word = rest.removeFirst()
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let (name, inline) = (parts[0], parts.count == 2 ? parts[1] : nil)
        guard let option = options.first(where: { "--" + $0.name == name || $0.short.map { "-\($0)" } == name }) else {
            let near = nearestMatch(to: name, among: options.map { "--" + $0.name })
            throw UsageError(
                "'\(command)' has no option \(name)",
                hint: near.map { "Did you mean \($0)?" } ?? "See '\(command) --help'.")
        }
        guard option.repeats || !arguments.has(option) else {
            throw UsageError("\(name) was given twice", hint: "Give it once.")
        }
        guard let placeholder = option.placeholder else {
            guard inline == nil else { throw UsageError("\(name) takes no value", hint: "Write just \(name).") }
            return arguments.set(option, true)
        }
        guard let text = inline ?? rest.popFirst() else {
            throw UsageError("\(name) needs a value", hint: "Write \(name) \(placeholder).")
        }
        arguments.set(option, try option.read(text))
    }

    private func assign(
        _ words: [String], of command: Command, into arguments: inout ParsedArguments
    ) throws(UsageError) {
        var rest = words[...]
        for positional in command.positionals {
            let count = positional.takesRest ? rest.count : min(1, rest.count)
            guard count > 0 || !positional.isRequired else {
                throw UsageError(
                    "'mew \(command.name)' needs \(positional.name): \(positional.help)",
                    hint: "Usage: \(HelpText.usage(of: command)).")
            }
            for word in rest.prefix(count) { arguments.set(positional, try positional.read(word)) }
            rest = rest.dropFirst(count)
        }
        if let extra = rest.first {
            throw UsageError(
                "'mew \(command.name)' does not know what to do with '\(extra)'",
                hint: "Usage: \(HelpText.usage(of: command)).")
        }
    }
}
