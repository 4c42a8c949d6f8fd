import MewBase
import MewWire

/// Everything a command prints. For people: lines on standard output. With `--json`: one object per line there instead. Errors
/// go to standard error as one sentence, and with `--json` also to standard output as an object (DESIGN §10).
///
/// On a terminal, sentences are broken between words; into a pipe or a file each goes as one line.
struct Output: Sendable {
    let isJSON: Bool
    let standard: any LineSink
    let errors: any LineSink
    /// Of the terminal that standard output is; nil when it is none.
    var columns: Int?
    /// The same for standard error.
    var errorColumns: Int?

    /// A line for people; silent with `--json`.
    func line(_ text: String = "") {
        guard !isJSON else { return }
        standard.write(text + "\n")
    }

    /// A sentence for people, which may be long; silent with `--json`.
    ///
    /// - Parameter indent: of what does not fit into the first line; nil for what the first line has.
    func sentence(_ text: String, indent: Int? = nil) {
        for line in Self.broken(text, columns, indent: indent) { self.line(line) }
    }

    /// A table for people: on a terminal as wide as that, into a pipe or a file with every column whole; silent with `--json`.
    func table(_ table: TextTable) {
        for line in table.lines(width: columns ?? .max) { self.line(line) }
    }

    /// Text for people that may lack its newline, such as streamed words.
    func text(_ text: String) {
        guard !isJSON else { return }
        standard.write(text)
    }

    /// Something beside the result (progress, a hint): standard error, so that pipes stay clean.
    func note(_ text: String) {
        for line in Self.broken(text, errorColumns) { note(verbatim: line) }
    }

    /// A line beside the result that is to be copied or compared.
    func note(verbatim text: String) {
        errors.write(text + "\n")
    }

    private static func broken(_ text: String, _ columns: Int?, indent: Int? = nil) -> [String] {
        guard let columns else { return [text] }
        return LineBreaks.lines(text, width: columns, indent: indent ?? text.prefix { $0 == " " }.count)
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
