/// Options that every command takes.
enum GlobalOptions {
    static let home = Option<String>("home", "DIR", "state directory (default: $MEW_HOME, else ~/.local/share/mew)") {
        text throws(UsageError) in
        guard !text.isEmpty else { throw UsageError("--home needs a directory") }
        return text
    }
    static let json = Flag("json", "print one JSON object per line")
    static let help = Flag("help", "show this text")

    static let all = [json.spec, home.spec, help.spec]
}
