/// An option of a command, `--name VALUE`, typed by what its text is read as.
struct Option<Value: Sendable>: Sendable {
    /// Without the dashes.
    let name: String
    /// What stands for the value in help text.
    let placeholder: String
    let help: String
    var short: Character?
    let read: @Sendable (String) throws(UsageError) -> Value

    init(
        _ name: String, _ placeholder: String, short: Character? = nil, _ help: String,
        read: @escaping @Sendable (String) throws(UsageError) -> Value
    ) {
        self.name = name
        self.placeholder = placeholder
        self.short = short
        self.help = help
        self.read = read
    }

    var spec: OptionSpec { OptionSpec(name, placeholder, short: short, repeats: false, help, read: erased) }

    /// The same option, allowed more than once.
    var repeated: OptionSpec { OptionSpec(name, placeholder, short: short, repeats: true, help, read: erased) }

    private var erased: @Sendable (String) throws(UsageError) -> any Sendable {
        { [read] text throws(UsageError) in try read(text) }
    }
}

/// An option without a value.
struct Flag: Sendable {
    let name: String
    let help: String

    init(_ name: String, _ help: String) {
        self.name = name
        self.help = help
    }

    var spec: OptionSpec { OptionSpec(name, nil, short: nil, repeats: false, help, read: { _ in true }) }
}

/// A word of a command that is no option, typed by what its text is read as.
struct Positional<Value: Sendable>: Sendable {
    let name: String
    let help: String
    let read: @Sendable (String) throws(UsageError) -> Value

    init(_ name: String, _ help: String, read: @escaping @Sendable (String) throws(UsageError) -> Value) {
        self.name = name
        self.help = help
        self.read = read
    }

    var required: PositionalSpec { PositionalSpec(name: name, help: help, arity: .one, read: erased) }
    var optional: PositionalSpec { PositionalSpec(name: name, help: help, arity: .optional, read: erased) }
    /// One or more; only as the last word.
    var oneOrMore: PositionalSpec { PositionalSpec(name: name, help: help, arity: .oneOrMore, read: erased) }
    /// Any number; only as the last word.
    var any: PositionalSpec { PositionalSpec(name: name, help: help, arity: .any, read: erased) }

    private var erased: @Sendable (String) throws(UsageError) -> any Sendable {
        { [read] text throws(UsageError) in try read(text) }
    }
}

/// What a command's table says about one option.
struct OptionSpec: Sendable {
    let name: String
    let placeholder: String?
    let short: Character?
    let repeats: Bool
    let help: String
    let read: @Sendable (String) throws(UsageError) -> any Sendable

    init(
        _ name: String, _ placeholder: String?, short: Character?, repeats: Bool, _ help: String,
        read: @escaping @Sendable (String) throws(UsageError) -> any Sendable
    ) {
        self.name = name
        self.placeholder = placeholder
        self.short = short
        self.repeats = repeats
        self.help = help
        self.read = read
    }
}

/// What a command's table says about one word.
struct PositionalSpec: Sendable {
    enum Arity: Sendable { case one, optional, oneOrMore, any }

    let name: String
    let help: String
    let arity: Arity
    let read: @Sendable (String) throws(UsageError) -> any Sendable

    var takesRest: Bool { arity == .oneOrMore || arity == .any }
    var isRequired: Bool { arity == .one || arity == .oneOrMore }
}

/// The command line does not mean anything; exit 2.
struct UsageError: Error, Equatable {
    let message: String
    let hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}
