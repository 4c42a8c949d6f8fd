/// Everything that can go wrong, by one name for the wire, the command line and its exit status (spec/native-wire.md §4).
///
/// A closed list: a new failure gets a new code. A code that a newer peer sends and we do not know is read as `internal`, which
/// promises nothing; the sentence beside it still says what happened.
public enum ErrorCode: String, WireEnum, Error, Sendable, Hashable {
    // The request itself is wrong.
    case badInput = "bad_input"
    case unknownVersion = "unknown_version"
    case unknownSession = "unknown_session"
    case unknownDaemon = "unknown_daemon"
    case badCwd = "bad_cwd"
    /// `mew add` was closed with code 1: nobody waits for a new device there.
    case windowClosed = "window_closed"
    /// A deadline passed before anything was sent.
    case timedOut = "timed_out"
    // Not allowed.
    case unauthorized, revoked, scope
    // Not reached.
    case unreachable
    case daemonRestarting = "daemon_restarting"
    case wrongNode = "wrong_node"
    // Refused by state.
    case busy
    case leaseHeld = "lease_held"
    case turnOver = "turn_over"
    case tooLate = "too_late"
    case notWhatWasShown = "not_what_was_shown"
    case unknownRequest = "unknown_request"
    // The operation ID was used otherwise; what that operation did, its receipt says.
    case opConflict = "op_conflict"
    case opSettled = "op_settled"
    case opExpired = "op_expired"
    // A client's fault.
    case opIDRequired = "op_id_required"
    case digestMissing = "digest_missing"
    case wrongChannel = "wrong_channel"
    case unknownType = "unknown_type"
    case tooLarge = "too_large"
    case `protocol`
    /// The disk is full or the store fails.
    case notSaved = "not_saved"
    // Start-up.
    case portTaken = "port_taken"
    case directoryLocked = "directory_locked"
    case directoryReadOnly = "directory_read_only"
    /// The channel was lost before a receipt.
    case deliveryUnknown = "delivery_unknown"
    case `internal`

    package static func otherwise(_ text: String) -> ErrorCode? { .internal }

    /// What the command line exits with (DESIGN §10).
    public var exitStatus: Int32 {
        switch self {
        case .badInput, .unknownVersion, .unknownSession, .unknownDaemon, .badCwd: 2
        case .windowClosed, .timedOut: 3
        case .unauthorized, .revoked, .scope: 4
        case .unreachable, .daemonRestarting, .wrongNode: 5
        case .busy, .leaseHeld, .turnOver, .tooLate, .notWhatWasShown, .unknownRequest: 6
        case .opConflict, .opSettled, .opExpired, .notSaved: 6
        case .opIDRequired, .digestMissing, .wrongChannel, .unknownType, .tooLarge, .protocol: 1
        case .portTaken, .directoryLocked, .directoryReadOnly, .internal: 1
        case .deliveryUnknown: 7
        }
    }

    /// True when the operation certainly had no effect. False means that nobody knows, or that a receipt does.
    public var definitelyNotDone: Bool {
        switch self {
        case .opConflict, .opSettled, .opExpired, .deliveryUnknown, .internal: false
        case .badInput, .unknownVersion, .unknownSession, .unknownDaemon, .badCwd, .windowClosed, .timedOut,
            .unauthorized, .revoked, .scope, .unreachable, .daemonRestarting, .wrongNode, .busy, .leaseHeld,
            .turnOver, .tooLate, .notWhatWasShown, .unknownRequest, .opIDRequired, .digestMissing, .wrongChannel,
            .unknownType, .tooLarge, .protocol, .notSaved, .portTaken, .directoryLocked, .directoryReadOnly:
            true
        }
    }
}
