import Testing

@testable import mew

/// A small command line: two words, a number, flags, a group, a rest.
private enum Example {
    static let daemon = Positional<String>("D", "a daemon", read: Readers.text("D"))
    static let text = Positional<String>("TEXT", "words", read: Readers.text("TEXT"))
    static let count = Option<Int>("count", "N", short: "c", "how many", read: Readers.integer("--count", in: 1...100))
    static let mode = Option<String>("mode", "M", "how", read: Readers.choice("--mode", ["once", "session"]))
    static let force = Flag("force", "do not ask")

    static let parser = ArgumentParser(commands: [
        Command("ping", "measure", positionals: [daemon.required], options: [count.spec, force.spec]) { _ in .ok },
        Command("say", "speak", positionals: [daemon.required, text.oneOrMore], options: [mode.repeated]) { _ in .ok },
        Command("session rename", "name it", positionals: [daemon.required]) { _ in .ok },
        Command("session delete", "erase it", positionals: [daemon.optional]) { _ in .ok },
    ])

    static func arguments(_ words: String...) throws -> ParsedArguments {
        guard case .run(_, let arguments) = try parser.parse(words) else { throw UsageError("no command") }
        return arguments
    }

    static func refusal(_ words: String...) -> UsageError? {
        #expect(throws: UsageError.self) { _ = try parser.parse(words) }
    }
}

@Suite("Parsing a command line")
struct ArgumentParserTests {
    @Test("options are read into their types, wherever they stand and however they are spelled")
    func readsOptions() throws {
        for words in [["-c", "3"], ["--count", "3"], ["--count=3"]] {
            guard
                case .run(let command, let arguments) = try Example.parser.parse(
                    ["ping"] + words + ["laptop", "--force"])
            else { throw UsageError("no command") }
            #expect(command.name == "ping")
            #expect(arguments[Example.count] == 3)
            #expect(arguments[Example.daemon] == "laptop")
            #expect(arguments[Example.force])
        }
    }

    @Test("global options may stand before the command")
    func globalOptionsFirst() throws {
        let arguments = try Example.arguments("--json", "--home", "/tmp/x", "ping", "laptop")
        #expect(arguments[GlobalOptions.home] == "/tmp/x")
        #expect(arguments[GlobalOptions.json])
    }

    @Test("a rest takes every word, and -- ends the options")
    func takesTheRest() throws {
        let arguments = try Example.arguments("say", "laptop", "run", "--", "--all", "-x")
        #expect(arguments.all(Example.text) == ["run", "--all", "-x"])
    }

    @Test("a number below zero is a word, not an option")
    func negativeNumbers() throws {
        #expect(try Example.arguments("say", "laptop", "-5").all(Example.text) == ["-5"])
    }

    @Test("only a repeatable option may be given twice")
    func repeats() throws {
        let twice = try Example.arguments("say", "laptop", "x", "--mode", "once", "--mode", "session")
        #expect(twice.all(Example.mode) == ["once", "session"])
        #expect(Example.refusal("ping", "laptop", "-c", "1", "-c", "2")?.message == "-c was given twice")
    }

    @Test("a mistyped command gets the nearest one, also inside a group")
    func suggestsCommands() {
        #expect(Example.refusal("pnig")?.hint == "Did you mean 'mew ping'?")
        #expect(Example.refusal("session", "renmae")?.hint == "Did you mean 'mew session rename'?")
        #expect(Example.refusal("xylophone")?.hint == "See 'mew help'.")
        #expect(Example.refusal("session")?.message == "'mew session' needs one of: rename, delete")
    }

    @Test("a mistyped option and a mistyped choice get the nearest one")
    func suggestsOptions() {
        #expect(Example.refusal("ping", "laptop", "--cuont", "3")?.hint == "Did you mean --count?")
        #expect(Example.refusal("say", "laptop", "x", "--mode", "onec")?.hint == "Did you mean once?")
    }

    @Test("too few and too many words are refused with the usage")
    func countsWords() {
        #expect(Example.refusal("ping")?.message == "'mew ping' needs D: a daemon")
        #expect(Example.refusal("ping")?.hint == "Usage: mew ping D [-c, --count N] [--force].")
        #expect(Example.refusal("ping", "a", "b")?.message == "'mew ping' does not know what to do with 'b'")
        #expect(Example.refusal("ping", "a", "--count")?.hint == "Write --count N.")
        #expect(Example.refusal("ping", "a", "--force=1")?.message == "--force takes no value")
    }

    @Test("a number outside its range is refused with the range", arguments: ["0", "101", "x", "1.5"])
    func checksRanges(text: String) {
        #expect(
            Example.refusal("ping", "a", "-c", text)?.message
                == "--count must be a whole number from 1 to 100, not '\(text)'")
    }

    @Test("--help wins over every other mistake, for commands and for groups", arguments: [["ping"], ["session"]])
    func asksForHelp(path: [String]) throws {
        guard case .help(let topic) = try Example.parser.parse(path + ["--nonsense", "--help"]) else {
            throw UsageError("no help")
        }
        #expect(topic == path)
        guard case .help(path) = try Example.parser.parse(["help"] + path) else { throw UsageError("no help") }
    }

    @Test("no word at all is a request for help, and so is asking for help on help")
    func emptyIsHelp() throws {
        for words in [[], ["help"], ["--help"], ["help", "help"]] {
            guard case .help([]) = try Example.parser.parse(words) else { throw UsageError("no help") }
        }
        for words in [["--version"], ["-V"], ["version"]] {
            guard case .version = try Example.parser.parse(words) else { throw UsageError("no version") }
        }
    }

    @Test("--help before a command is help for that command; a mistyped topic gets the nearest one")
    func helpTopics() throws {
        guard case .help(["ping"]) = try Example.parser.parse(["--help", "ping", "--json"]) else {
            throw UsageError("no help")
        }
        guard case .help(["session", "rename"]) = try Example.parser.parse(["help", "session", "rename", "x"]) else {
            throw UsageError("no help")
        }
        #expect(Example.refusal("help", "session", "renam")?.hint == "Did you mean 'mew session rename'?")
        #expect(Example.refusal("--help", "pnig")?.hint == "Did you mean 'mew ping'?")
    }

    @Test("help of every length stays within 80 columns")
    func helpFits() {
        for command in Example.parser.commands + CommandList.all {
            for line in HelpText.of(command).split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        }
        for line in HelpText.overview(of: CommandList.all, under: []).split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
        }
    }
}

@Suite("The nearest match")
struct NearestMatchTests {
    @Test("one edit each: insert, delete, replace, swap")
    func distances() {
        #expect(editDistance("ping", "ping") == 0)
        #expect(editDistance("ping", "pings") == 1)
        #expect(editDistance("ping", "pin") == 1)
        #expect(editDistance("ping", "pong") == 1)
        #expect(editDistance("ping", "pnig") == 1)
        #expect(editDistance("", "abc") == 3)
    }

    @Test("a third of the characters may differ; one more is another word")
    func boundary() {
        #expect(nearestMatch(to: "sexxions", among: ["sessions"]) == "sessions")
        #expect(nearestMatch(to: "sexxioxx", among: ["sessions"]) == nil)
        #expect(nearestMatch(to: "pear", among: ["pair"]) == "pair")
        #expect(nearestMatch(to: "pan", among: ["set"]) == nil)
    }

    @Test("the beginning of exactly one candidate is enough")
    func beginnings() {
        #expect(nearestMatch(to: "sess", among: ["sessions", "status"]) == "sessions")
        #expect(nearestMatch(to: "xs", among: []) == nil)
    }
}
