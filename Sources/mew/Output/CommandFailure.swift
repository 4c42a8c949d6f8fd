import MewBase

/// Why a command could not do its job: what was tried and what stopped it, in one sentence, and one thing to do.
struct CommandFailure: Error, Equatable {
    let code: FailureCode
    /// Without a full stop. Strings from peers in it are cleaned already.
    let message: String
    /// A whole sentence, or a command to run.
    let hint: String?

    init(_ code: FailureCode, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    init(_ error: UsageError) {
        self.init(.badInput, error.message, hint: error.hint)
    }

    var exit: ExitCode { code.exit }

    /// `mew: …`, for standard error.
    var sentence: String {
        let end = message.hasSuffix(".") || message.hasSuffix("?") ? "" : "."
        return "mew: \(message)\(end)" + (hint.map { " \($0)" } ?? "")
    }
}

/// The codes of spec/native-wire.md §4: one list for the wire, the command line and its exit status.
struct FailureCode: Hashable, Sendable {
    let name: String
    let exit: ExitCode

    private init(_ name: String, _ exit: ExitCode) {
        self.name = name
        self.exit = exit
    }

    static let badInput = FailureCode("bad_input", .usage)
    static let unknownVersion = FailureCode("unknown_version", .usage)
    static let unknownSession = FailureCode("unknown_session", .usage)
    static let unknownDaemon = FailureCode("unknown_daemon", .usage)
    static let badDirectory = FailureCode("bad_cwd", .usage)

    static let windowClosed = FailureCode("window_closed", .timedOut)
    static let timedOut = FailureCode("timed_out", .timedOut)

    static let unauthorized = FailureCode("unauthorized", .unauthorized)
    static let revoked = FailureCode("revoked", .unauthorized)
    static let scope = FailureCode("scope", .unauthorized)

    static let unreachable = FailureCode("unreachable", .unreachable)
    static let daemonRestarting = FailureCode("daemon_restarting", .unreachable)
    static let wrongNode = FailureCode("wrong_node", .unreachable)

    static let busy = FailureCode("busy", .refused)
    static let leaseHeld = FailureCode("lease_held", .refused)
    static let turnOver = FailureCode("turn_over", .refused)
    static let tooLate = FailureCode("too_late", .refused)
    static let notWhatWasShown = FailureCode("not_what_was_shown", .refused)
    static let unknownRequest = FailureCode("unknown_request", .refused)
    static let operationConflict = FailureCode("op_conflict", .refused)
    static let operationSettled = FailureCode("op_settled", .refused)
    static let operationExpired = FailureCode("op_expired", .refused)
    static let notSaved = FailureCode("not_saved", .refused)

    static let operationIDRequired = FailureCode("op_id_required", .failed)
    static let digestMissing = FailureCode("digest_missing", .failed)
    static let wrongChannel = FailureCode("wrong_channel", .failed)
    static let unknownType = FailureCode("unknown_type", .failed)
    static let tooLarge = FailureCode("too_large", .failed)
    static let protocolError = FailureCode("protocol", .failed)
    static let portTaken = FailureCode("port_taken", .failed)
    static let directoryLocked = FailureCode("directory_locked", .failed)
    static let directoryReadOnly = FailureCode("directory_read_only", .failed)
    static let internalError = FailureCode("internal", .failed)

    static let deliveryUnknown = FailureCode("delivery_unknown", .deliveryUnknown)

    static let all = [
        badInput, unknownVersion, unknownSession, unknownDaemon, badDirectory, windowClosed, timedOut, unauthorized,
        revoked, scope, unreachable, daemonRestarting, wrongNode, busy, leaseHeld, turnOver, tooLate, notWhatWasShown,
        unknownRequest, operationConflict, operationSettled, operationExpired, notSaved, operationIDRequired,
        digestMissing, wrongChannel, unknownType, tooLarge, protocolError, portTaken, directoryLocked,
        directoryReadOnly, internalError, deliveryUnknown,
    ]

    /// A code that came over the wire. One from the future is a failure like any other, under its own name.
    init(wire name: String) {
        self = Self.all.first { $0.name == name } ?? FailureCode(name.printable(limit: 40), .failed)
    }
}
