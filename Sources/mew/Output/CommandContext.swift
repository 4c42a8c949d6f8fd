import MewBase
import MewDaemon
import MewIdentity
import MewLoop
import MewNode
import MewWire

/// The surroundings of one command: where its state lives, what it prints to, whom it can ask.
struct CommandContext: Sendable {
    let home: String
    let output: Output
    let terminal: Terminal
    let runtime: Runtime

    /// The state directory, made if it is missing.
    func stateDirectory() throws(CommandFailure) -> StateDirectory {
        do throws(StartFailure) {
            return try StateDirectory.open(home)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// The node's key, made at the first use.
    func key() throws(CommandFailure) -> SecretKey {
        let directory = try stateDirectory()
        do throws(StartFailure) {
            return try directory.nodeKey()
        } catch {
            throw CommandFailure(error)
        }
    }
}

extension CommandContext {
    /// Longer than any terminal or file takes, and short for a person who stopped the terminal and then the program.
    private static let logPatience: Duration = .seconds(1)

    /// A log on standard error. Its last lines are written before the process ends: what it ends with is what people look for.
    func makeLog(_ minimum: Diagnostic.Level, isJSON: Bool) -> LogSink {
        let (errors, runtime) = (output.errors, runtime)
        let log = LogSink(
            minimum: minimum, format: isJSON ? .json : .human, wall: SystemWallClock(), loop: runtime.files
        ) { errors.write($0) }
        runtime.atEnd { await log.flush(within: Self.logPatience, by: runtime.loop) }
        return log
    }
}

extension CommandFailure {
    init(_ failure: StartFailure) {
        self.init(failure.code, failure.message, hint: failure.hint)
    }
}

/// Where the state directory is: `--home`, else `$MEW_HOME`, else `$XDG_DATA_HOME/mew`, else `~/.local/share/mew`.
///
/// - Parameter directory: the present one, for a relative path.
func stateDirectoryPath(
    option: String?, environment: [String: String], directory: String
) throws(CommandFailure) -> String {
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    func absolute(_ path: String) -> String { path.hasPrefix("/") ? path : directory + "/" + path }
    if let path = option ?? value("MEW_HOME") { return absolute(path) }
    // "All paths set in these environment variables must be absolute. If [...] relative [...] it should [be] ignore[d]."
    // (XDG Base Directory Specification)
    if let data = value("XDG_DATA_HOME"), data.hasPrefix("/") { return data + "/mew" }
    if let home = value("HOME") { return absolute(home + "/.local/share/mew") }
    throw CommandFailure(
        .badInput, "cannot choose a state directory, because $HOME is not set", hint: "Say where with --home DIR.")
}
