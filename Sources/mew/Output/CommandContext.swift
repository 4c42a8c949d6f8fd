import MewWire

/// The surroundings of one command: where its state lives, what it prints to, who it can ask.
struct CommandContext: Sendable {
    let home: String
    let output: Output
    let terminal: Terminal
}

/// Where the state directory is: `--home`, else `$MEW_HOME`, else `$XDG_DATA_HOME/mew`, else `~/.local/share/mew`.
func stateDirectoryPath(option: String?, environment: [String: String]) throws(CommandFailure) -> String {
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let path = option ?? value("MEW_HOME") { return path }
    // "All paths set in these environment variables must be absolute. If [...] relative [...] it should [be] ignore[d]."
    // (XDG Base Directory Specification)
    if let data = value("XDG_DATA_HOME"), data.hasPrefix("/") { return data + "/mew" }
    if let home = value("HOME") { return home + "/.local/share/mew" }
    throw CommandFailure(
        .badInput, "cannot choose a state directory, because $HOME is not set", hint: "Say where with --home DIR.")
}
