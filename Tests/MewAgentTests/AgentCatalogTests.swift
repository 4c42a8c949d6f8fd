import Testing

@testable import MewAgent

@Suite("Which agents a daemon offers")
struct AgentCatalogTests {
    private func words(_ options: String...) -> String {
        do { return try AgentCatalog(options: options).entries.map(\.name).joined(separator: " ") } catch {
            return error.description
        }
    }

    @Test("the shell agent is offered while nothing is configured, and when asked for")
    func shell() throws {
        #expect(try AgentCatalog(options: []).defaultEntry == .init(name: "shell", kind: .shell))
        #expect(words("shell") == "shell")
    }

    @Test("a session that names no agent gets the default, a name that is not offered gets none")
    func lookup() throws {
        let catalog = try AgentCatalog(options: [])
        #expect(catalog.entry(named: nil)?.name == "shell")
        #expect(catalog.entry(named: "shell")?.kind == .shell)
        #expect(catalog.entry(named: "Shell") == nil)
        #expect(catalog.entry(named: "sh -c reboot") == nil)
    }

    @Test("an agent with a command is understood and refused in words")
    func laterVersion() {
        #expect(
            words("claude=claude-acp --stdio").hasPrefix("agent 'claude' cannot be started: agents of the Agent Client")
        )
        #expect(words("shell", "x=y").hasPrefix("agent 'x' cannot be started"))
    }

    @Test("other mistakes are named")
    func mistakes() {
        #expect(words("fish").hasPrefix("there is no built-in agent 'fish'"))
        #expect(words("").hasPrefix("there is no built-in agent ''"))
        #expect(words("shell=sh").hasPrefix("'shell' cannot name an agent"))
        #expect(words("=sh").hasPrefix("'' cannot name an agent"))
        #expect(words("a b=sh").hasPrefix("'a b' cannot name an agent"))
        #expect(words(String(repeating: "a", count: 32) + "=sh").hasPrefix("agent 'aaa"))
        #expect(words(String(repeating: "a", count: 33) + "=sh").contains("cannot name an agent"))
        #expect(words("claude= ").hasPrefix("agent 'claude' has no command"))
        #expect(words("shell", "shell") == "agent 'shell' is given twice; leave one --agent out")
    }
}

@Suite("Prompts as shell commands")
struct ShellCommandTests {
    @Test("a command is taken as it is, with its line breaks")
    func taken() throws {
        #expect(try ShellCommand(prompt: " ls\n\techo hi ").text == " ls\n\techo hi ")
    }

    @Test("nothing, blanks and zero bytes are refused with a sentence")
    func refused() {
        #expect(throws: ShellCommandError.empty) { try ShellCommand(prompt: "") }
        #expect(throws: ShellCommandError.empty) { try ShellCommand(prompt: " \n\t") }
        #expect(throws: ShellCommandError.zeroByte) { try ShellCommand(prompt: "ls\u{0}; reboot") }
    }

    @Test("131,071 bytes are a command, one more is too long")
    func length() throws {
        let longest = String(repeating: "é", count: ShellCommand.maxBytes / 2) + ":"
        #expect(try ShellCommand(prompt: longest).text == longest)
        #expect(throws: ShellCommandError.tooLong(bytes: 131_072)) { try ShellCommand(prompt: longest + ":") }
    }
}
