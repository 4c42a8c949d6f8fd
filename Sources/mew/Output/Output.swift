import MewBase
import MewWire

/// Everything a command prints. For people: lines on standard output. With `--json`: one object per line there instead. Errors
/// go to standard error as one sentence, and with `--json` also to standard output as an object (DESIGN §10).
struct Output: Sendable {
    let isJSON: Bool
    let standard: any LineSink
    let errors: any LineSink

    /// A line for people; silent with `--json`.
    func line(_ text: String = "") {
        guard !isJSON else { return }
        standard.write(text + "\n")
    }

    /// Text for people that may lack its newline, such as streamed words.
    func text(_ text: String) {
        guard !isJSON else { return }
        standard.write(text)
    }

    /// Something beside the result (progress, a question, a way back): standard error, so that pipes stay clean.
    func note(_ text: String) {
        errors.write(text + "\n")
    }

    /// A sentence that must not be missed but stops nothing.
    func warning(_ text: String) {
        note("mew: \(text)")
    }
}

extension Output {
    /// One object on a line of its own; silent without `--json`.
    func json(_ object: JSONObject) {
        guard isJSON else { return }
        standard.write(JSON.object(object).text + "\n")
    }

    func version(_ version: String) {
        json(["version": .string(version)])
        line("mew \(version)")
    }

    /// Tells a failure in both places and returns its exit code.
    func failure(_ failure: CommandFailure) -> ExitCode {
        json(failure.json)
        note(failure.sentence)
        return failure.exit
    }
}
