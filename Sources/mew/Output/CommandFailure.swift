import MewWire

/// Why a command could not do its job: what was tried and what stopped it, in one sentence, and one thing to do.
struct CommandFailure: Error, Equatable {
    /// The one list for the wire, the command line and its exit status (spec/native-wire.md §4).
    let code: ErrorCode
    /// Without a full stop. Strings from peers in it are cleaned already.
    let message: String
    /// A whole sentence.
    let hint: String?
    /// The relay is to blame, not the daemon behind it.
    let relayFailure: DialError.RelayFailure?

    init(
        _ code: ErrorCode, _ message: String, hint: String? = nil, relayFailure: DialError.RelayFailure? = nil
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.relayFailure = relayFailure
    }

    init(_ error: UsageError) {
        self.init(.badInput, error.message, hint: error.hint)
    }

    var exit: ExitCode { ExitCode(rawValue: code.exitStatus) ?? .failed }

    /// `mew: …`, for standard error.
    var sentence: String {
        let end = message.hasSuffix(".") || message.hasSuffix("?") ? "" : "."
        return "mew: \(message)\(end)" + (hint.map { " \($0)" } ?? "")
    }

    /// `{"error":{"code","message","hint"}}`, for standard output.
    var json: JSONObject {
        [
            "error": [
                "code": .string(code.rawValue), "message": .string(message), "hint": hint.map(JSON.string) ?? .null,
            ]
        ]
    }
}
