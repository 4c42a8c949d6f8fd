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
        standard.write(JSON.object(object).text.escapingUnprintables + "\n")
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

extension String {
    /// The same JSON, with every character escaped that a terminal would interpret: strings of peers end up on screens in this
    /// form, too. Such characters stand in strings only.
    fileprivate var escapingUnprintables: String {
        guard !unicodeScalars.allSatisfy(\.isPrintable) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            guard !scalar.isPrintable else { return text.unicodeScalars.append(scalar) }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
    }
}
