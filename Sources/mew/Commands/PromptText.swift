import MewLoop
import MewSession
import MewWire

/// What a prompt may be, before anything is asked of a daemon.
enum PromptText {
    static func checked(_ text: String) throws(CommandFailure) -> String {
        guard !text.trimmed.isEmpty else {
            throw CommandFailure(.badInput, "TEXT must not be empty", hint: "Say what the agent is to do.")
        }
        return text
    }

    /// Of a file or a pipe, without the line feeds at its end, as a shell would substitute it.
    ///
    /// - Parameter bytes: nil when there are too many.
    static func read(_ bytes: [UInt8]?) throws(CommandFailure) -> String {
        guard let bytes else {
            throw CommandFailure(
                .badInput, "a prompt has at most \(SessionCore.maxPromptBytes) bytes, and standard input holds more",
                hint: "Put the rest into a file on the daemon's machine.")
        }
        guard var text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(
                .badInput, "standard input holds something else than UTF-8 text", hint: "A prompt is text.")
        }
        guard !text.trimmed.isEmpty else {
            throw CommandFailure(
                .badInput, "standard input is empty, and the prompt was to come from there", hint: "Give it some text.")
        }
        while text.last?.isNewline == true { text.removeLast() }
        return text
    }
}

extension CommandContext {
    /// Reads the prompt from standard input, up to its end.
    func readPrompt() async throws(CommandFailure) -> String {
        if terminal.canAsk { output.note("(type the prompt; Ctrl-D on a line of its own ends it)") }
        let bytes: [UInt8]?
        do throws(StreamError) {
            bytes = try await runtime.input.readAll(maxBytes: SessionCore.maxPromptBytes)
        } catch {
            throw CommandFailure(.badInput, "could not read the prompt: \(error)", hint: "Check standard input.")
        }
        return try PromptText.read(bytes)
    }
}
