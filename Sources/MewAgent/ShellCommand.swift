/// A prompt as the shell agent takes it: one command line for a shell.
struct ShellCommand: Equatable {
    let text: String

    /// Linux gives a single argument at most 128 KiB with its end (MAX_ARG_STRLEN); a command that long is a mistake anyway.
    static let maxBytes = (128 << 10) - 1

    init(prompt: String) throws(ShellCommandError) {
        guard prompt.contains(where: { !$0.isWhitespace }) else { throw .empty }
        guard !prompt.utf8.contains(0) else { throw .zeroByte }
        let size = prompt.utf8.count
        guard size <= Self.maxBytes else { throw .tooLong(bytes: size) }
        text = prompt
    }
}

/// Why a prompt is no command.
enum ShellCommandError: Error, Equatable, CustomStringConvertible {
    case empty
    case zeroByte
    case tooLong(bytes: Int)

    var description: String {
        switch self {
        case .empty: "The prompt is empty; this agent takes a shell command."
        case .zeroByte: "The prompt contains a zero byte, which no shell command can hold."
        case .tooLong(let bytes):
            "The prompt has \(bytes) bytes; a shell command has at most \(ShellCommand.maxBytes). Put it into a file."
        }
    }
}
