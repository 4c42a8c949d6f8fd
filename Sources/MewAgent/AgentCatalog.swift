package import MewLoop
package import MewSession

/// Which agents this daemon offers: a remote device picks a name, never a command line (DESIGN §9).
package struct AgentCatalog: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The built-in shell agent.
        case shell
    }

    package struct Entry: Equatable, Sendable {
        package let name: String
        package let kind: Kind
    }

    /// In the order in which they were configured; the first is the default. Never empty.
    package let entries: [Entry]

    /// What sessions get that name no agent.
    package var defaultEntry: Entry { entries[0] }

    package static let shellName = "shell"

    /// - Parameter options: the values of `--agent`, each `shell` or `NAME=COMMAND`. Without any, the shell agent is offered:
    ///   it is the embedded default.
    package init(options: [String]) throws(AgentOptionError) {
        var entries: [Entry] = []
        for option in options {
            let entry = try Self.entry(for: option)
            guard !entries.contains(where: { $0.name == entry.name }) else { throw .duplicate(entry.name) }
            entries.append(entry)
        }
        self.entries = entries.isEmpty ? [Entry(name: Self.shellName, kind: .shell)] : entries
    }

    package func entry(named name: String?) -> Entry? {
        guard let name else { return defaultEntry }
        return entries.first { $0.name == name }
    }

    /// The back ends of all entries, in their order.
    ///
    /// - Parameters:
    ///   - loop: not the network's, see `ShellAgent`.
    ///   - home: where sessions without a directory work.
    ///   - environment: `NAME=value` each, for what the agents run.
    package func backends(loop: EventLoop, home: String, environment: [String]) -> [any AgentBackend] {
        entries.map { entry in
            switch entry.kind {
            case .shell: ShellAgent(loop: loop, home: home, environment: environment)
            }
        }
    }

    private static func entry(for option: String) throws(AgentOptionError) -> Entry {
        if option == shellName { return Entry(name: shellName, kind: .shell) }
        guard let sign = option.firstIndex(of: "=") else { throw .unknown(option) }
        let name = option[..<sign]
        guard isName(name), name != shellName else { throw .badName(String(name)) }
        guard option[sign...].dropFirst().contains(where: { !$0.isWhitespace }) else { throw .noCommand(String(name)) }
        throw .laterVersion(String(name))
    }

    /// 1–32 letters, digits, `-`, `_` and `.`: names stand in tables, commands and database rows.
    private static func isName(_ name: Substring) -> Bool {
        (1...32).contains(name.utf8.count)
            && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
    }
}

/// What is wrong with a value of `--agent`; each description is a sentence for the person at the terminal, without its full
/// stop.
package enum AgentOptionError: Error, Equatable, CustomStringConvertible {
    case unknown(String)
    case badName(String)
    case noCommand(String)
    case duplicate(String)
    /// A well-formed ACP agent.
    case laterVersion(String)

    package var description: String {
        switch self {
        case .unknown(let text):
            "there is no built-in agent '\(text)'; the only one is 'shell' (--agent shell)"
        case .badName(let name):
            "'\(name)' cannot name an agent: use 1 to 32 letters, digits, '-', '_' or '.', and not 'shell'"
        case .noCommand(let name):
            "agent '\(name)' has no command after '='; write --agent \(name)=COMMAND"
        case .duplicate(let name):
            "agent '\(name)' is given twice; leave one --agent out"
        case .laterVersion(let name):
            "agent '\(name)' cannot be started: agents of the Agent Client Protocol arrive with a later version of mew; "
                + "leave it out, or use the built-in one (--agent shell)"
        }
    }
}
