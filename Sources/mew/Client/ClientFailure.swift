import MewClient
import MewWire

extension CommandFailure {
    /// - Parameters:
    ///   - doing: what was tried, as in "could not …": `reach desk`, `rename the session`.
    ///   - daemon: the daemon's name, for the hint.
    ///   - relays: how they were used.
    init(_ error: ClientError, doing: String, daemon: String, relays: RelayUse? = nil) {
        let hint =
            error.relay.map { relays?.hint($0) ?? $0.failure.hint }
            ?? (error.isLocal ? Self.localHint(error.code) : Self.hint(error.code, daemon))
        self.init(
            error.code, "could not \(doing): \(error.message)", hint: hint, relayFailure: error.relay?.failure)
    }

    init(_ error: ClientStoreError, doing: String) {
        let code: ErrorCode =
            switch error {
            case .readOnly: .directoryReadOnly
            case .notSaved: .notSaved
            case .unreadable, .notAFile, .damaged: .internal
            case .refused, .tooManyOperations, .unknownDelivery, .draftChanged: .busy
            case .draftTooLong: .tooLarge
            }
        self.init(code, "could not \(doing): \(error.description)", hint: Self.hint(error))
    }

    private static func hint(_ error: ClientStoreError) -> String? {
        switch error {
        case .readOnly: localHint(.directoryReadOnly)
        case .notSaved: localHint(.notSaved)
        case .unreadable: "Check its permissions."
        case .notAFile: "Move it away."
        case .damaged: "Restore it from a backup; deleting it makes this device forget its daemons."
        case .refused: nil
        case .tooManyOperations, .unknownDelivery: localHint(.busy)
        case .draftTooLong, .draftChanged: nil
        }
    }

    /// One thing to do when it is this device's own state directory that failed.
    private static func localHint(_ code: ErrorCode) -> String? {
        switch code {
        case .directoryReadOnly: "Make it writable for this user, or choose another state directory with --home DIR."
        case .notSaved: "Free some space, then try again."
        case .busy: "Look at 'mew ops' and drop what you no longer need."
        default: nil
        }
    }

    /// One thing to do.
    private static func hint(_ code: ErrorCode, _ daemon: String) -> String? {
        let name = shellQuoted(daemon)
        return switch code {
        case .unreachable: "Check that 'mew daemon' runs there, or give its address with --addr IP:PORT."
        case .wrongNode: "Check the address, or pair with the node that is there now."
        case .daemonRestarting: "Try again then."
        case .unauthorized, .revoked: "Run 'mew pair' there, then 'mew add' here."
        case .windowClosed: "Run 'mew pair' there, and 'mew add' within its 120 s."
        case .scope: "On the daemon's machine, 'mew peers scope' can give this device more rights."
        case .timedOut: "Try again."
        case .unknownSession: "See 'mew sessions \(name)'."
        case .badCwd: "Name a directory that exists on the daemon's machine."
        case .leaseHeld: "Wait until they stop, or take over with 'mew prompt --take-over'."
        case .turnOver: "See 'mew sessions \(name)'."
        case .deliveryUnknown: "Look at 'mew ops \(name)' before you send it again."
        case .notSaved: "Free some space on the daemon's disk."
        case .opConflict, .opSettled, .opExpired: "Send it again as a new one."
        case .unknownType, .protocol: "Update mew on both machines."
        case .internal: "The daemon's log says more."
        case .busy: "Try again in a moment."
        case .badInput, .unknownVersion, .unknownDaemon, .tooLate, .notWhatWasShown, .unknownRequest, .opIDRequired,
            .digestMissing, .wrongChannel, .tooLarge, .portTaken, .directoryLocked, .directoryReadOnly:
            nil
        }
    }
}
