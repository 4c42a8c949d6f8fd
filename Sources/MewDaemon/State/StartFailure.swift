import MewIdentity
import MewLoop
import MewNode
import MewSession
package import MewWire

/// Why a daemon did not start. `message` says what was tried and what stopped it; `hint` is one thing to do.
package struct StartFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: ErrorCode
    package let message: String
    package let hint: String

    package init(_ code: ErrorCode, _ message: String, hint: String) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    package var description: String { "\(message). \(hint)" }
}

extension StartFailure {
    static func locked(_ path: String, by process: Int32?) -> StartFailure {
        let who = process.map { " (process \($0))" } ?? ""
        return StartFailure(
            .directoryLocked, "cannot use the state directory \(path), because another mew daemon is using it\(who)",
            hint: "Stop that daemon, or choose another directory with --home DIR.")
    }

    /// Others can enter the directory, which is not closed unasked: its files do not show that it is a state directory.
    ///
    /// - Parameter isOurs: there is nothing in it that could not be mew's.
    static func open(_ path: String, isOurs: Bool) -> StartFailure {
        let start = "cannot use \(path) as the state directory, because others can enter it"
        return isOurs
            ? StartFailure(.badInput, start, hint: "Close it to them: chmod 700 \(path).")
            : StartFailure(.badInput, "\(start) and it holds other things", hint: ownDirectory)
    }

    private static let ownDirectory = "Name a directory of its own with --home DIR."

    init(_ path: String, _ error: SystemError) {
        switch error.kind {
        case .notEmpty:
            self.init(
                .badInput,
                "cannot use \(path) as the state directory, because others can enter it and it holds other things",
                hint: Self.ownDirectory)
        case .noSpace:
            self.init(
                .notSaved, "cannot write to the state directory \(path), because the disk is full",
                hint: "Free some space, then try again.")
        case .readOnly, .permissionDenied, .notADirectory, .alreadyExists, .outsideRoot, .notFound:
            self.init(
                .directoryReadOnly, "cannot write to the state directory \(path) (\(error))",
                hint: "Make it writable for this user, or choose another one with --home DIR.")
        case .isADirectory, .busy, .tooManyDescriptors, .tooLarge, .connectionRefused, .networkUnreachable, .other:
            self.init(
                .internal, "cannot use the state directory \(path) (\(error))",
                hint: "Look at the files in it, or choose another one with --home DIR.")
        }
    }

    init(_ error: KeyFileError) {
        let code: ErrorCode =
            switch error {
            case .unwritable(_, let cause): cause.isNoSpace ? .notSaved : .directoryReadOnly
            case .wrongMode, .wrongOwner, .wrongLength, .notAFile, .unreadable: .badInput
            }
        self.init(code, error.problem, hint: error.advice)
    }
}

extension UnusableFile {
    fileprivate func advice(_ path: String) -> String {
        switch self {
        case .notAFile: "Move it away, or choose another directory with --home DIR."
        case .otherOwner: "Run as that user, or choose another directory with --home DIR."
        case .unreadable: "Let this user read and write it: chmod 600 \(path)."
        }
    }
}

extension StartFailure {
    init(_ path: String, _ error: StoreError) {
        switch error {
        case .notSaved(let reason), .inDoubt(let reason):
            self.init(
                .notSaved, "cannot write to the database in \(path): \(reason)",
                hint: "Free some space, then try again.")
        case .locked: self = .locked(path, by: nil)
        case .readOnly:
            self.init(
                .directoryReadOnly, "cannot write to the state directory \(path): \(error)",
                hint: "Make it writable for this user, or choose another one with --home DIR.")
        case .unusable(let file, let problem):
            self.init(.badInput, "cannot use the database \(file): \(problem)", hint: problem.advice(file))
        case .newerSchema:
            self.init(.unknownVersion, "cannot use the database in \(path): \(error)", hint: "Update mew.")
        case .damaged, .contradiction, .closed:
            self.init(
                .internal, "cannot use the database in \(path): \(error)",
                hint: "Restore it from a backup, or move it away to start with no sessions.")
        }
    }

    init(_ error: NodeError) {
        switch error {
        case .portTaken: self.init(.portTaken, error.problem, hint: error.advice)
        case .noSuchAddress, .notPermitted: self.init(.badInput, error.problem, hint: error.advice)
        case .noNetwork, .failed: self.init(.internal, error.problem, hint: error.advice)
        }
    }
}
