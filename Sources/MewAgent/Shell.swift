import MewLoop

/// How a command of the shell agent is started.
///
/// Three things must hold whatever happens to us, `kill -9` at any moment included:
/// - The command does not begin before its process is on record. So it waits at a **gate**: its input is a pipe, and a byte
///   opens it. If we die first, the pipe ends and so does the waiting shell, with nothing run.
/// - It does not go on without us. So a **watcher** beside it in its process group holds the other end of the same pipe: when
///   we are gone the pipe ends, and it kills the group. It is nobody's child, so that no program waits for it by mistake.
/// - What slips out of the group is still in the session, which a restarted daemon ends by the record (`ProcessSession`).
struct Shell: Sendable {
    let path: String

    /// `bash` when the machine has one (the tool is called that on the wire), otherwise `sh`.
    static func installed() -> Shell {
        let candidates = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
        return Shell(path: candidates.first(where: FileAccess.canExecute) ?? "/bin/sh")
    }

    /// Read by `/bin/sh`; `$0` is the shell and `$1` the command. Its own input ends up closed for the command.
    static let gate = """
        read -r go || exit 125
        exec 3<&0
        ( { trap '' HUP INT TERM; read -r go; kill -s KILL -- "-$$"; } <&3 3<&- >/dev/null 2>&1 & )
        exec "$0" -c "$1" </dev/null 3<&-
        """

    /// What opens the gate.
    static let opening: [UInt8] = [UInt8(ascii: "\n")]

    func program(for command: ShellCommand, directory: String, environment: [String]) -> ChildProcess.Program {
        ChildProcess.Program(
            path: "/bin/sh", arguments: ["sh", "-c", Self.gate, path, command.text], environment: environment,
            directory: directory)
    }

    /// The command line of a process of the command; nil for the watcher of the gate, which is none, and for a process that has
    /// none: it is about to be gone. One look, because the watcher may go between two.
    static func commandLine(of member: ProcessSession.Member) -> String? {
        let arguments = member.arguments
        guard !arguments.isEmpty, !(arguments.count > 2 && arguments[2] == gate) else { return nil }
        return arguments.joined(separator: " ")
    }
}
