import MewWire

/// One command: its name, its table of words and options, and what it does.
struct Command: Sendable {
    /// `["session", "rename"]` for `mew session rename`.
    let path: [String]
    /// Half a sentence in lower case, for the list of commands.
    let summary: String
    let positionals: [PositionalSpec]
    let options: [OptionSpec]
    /// Paragraphs below the table in help text.
    let details: [String]
    /// Whole command lines.
    let examples: [String]
    let run: @Sendable (Invocation) async throws(CommandFailure) -> ExitCode

    init(
        _ name: String, _ summary: String, positionals: [PositionalSpec] = [], options: [OptionSpec] = [],
        details: [String] = [], examples: [String] = [],
        run: @escaping @Sendable (Invocation) async throws(CommandFailure) -> ExitCode
    ) {
        path = name.split(separator: " ").map(String.init)
        self.summary = summary
        self.positionals = positionals
        self.options = options
        self.details = details
        self.examples = examples
        self.run = run
    }

    var name: String { path.joined(separator: " ") }
}

/// A command with its parsed words, and the surroundings it runs in.
struct Invocation: Sendable {
    let arguments: ParsedArguments
    let context: CommandContext

    subscript<Value>(option: Option<Value>) -> Value? { arguments[option] }
    subscript<Value>(positional: Positional<Value>) -> Value? { arguments[positional] }
    subscript(flag: Flag) -> Bool { arguments[flag] }

    /// A word that its table calls required.
    func required<Value>(_ positional: Positional<Value>) throws(CommandFailure) -> Value {
        guard let value = arguments[positional] else {
            throw CommandFailure(.badInput, "\(positional.name) is missing")
        }
        return value
    }
}

/// The words and options of one invocation, already read into their types.
struct ParsedArguments: Sendable {
    private(set) var options: [String: [any Sendable]] = [:]
    private(set) var positionals: [String: [any Sendable]] = [:]

    mutating func set(_ option: OptionSpec, _ value: any Sendable) { options[option.name, default: []].append(value) }
    mutating func set(_ word: PositionalSpec, _ value: any Sendable) {
        positionals[word.name, default: []].append(value)
    }

    func has(_ option: OptionSpec) -> Bool { options[option.name] != nil }

    subscript<Value>(option: Option<Value>) -> Value? { options[option.name]?.last as? Value }
    subscript<Value>(positional: Positional<Value>) -> Value? { positionals[positional.name]?.last as? Value }
    subscript(flag: Flag) -> Bool { options[flag.name] != nil }

    func all<Value>(_ option: Option<Value>) -> [Value] {
        options[option.name, default: []].compactMap { $0 as? Value }
    }
    func all<Value>(_ positional: Positional<Value>) -> [Value] {
        positionals[positional.name, default: []].compactMap { $0 as? Value }
    }
}
