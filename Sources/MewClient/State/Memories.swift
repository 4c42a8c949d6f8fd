internal import MewBase
internal import MewWire

// What a client remembers for a while, each bounded.

/// The last operations that ended, so that whoever asks a moment later still hears how.
struct EndedOperations {
    private static let capacity = 64
    private var recent: [Operation] = []

    subscript(id: OperationID) -> Operation? { recent.last { $0.id == id } }

    mutating func insert(_ operation: Operation) {
        recent.append(operation)
        if recent.count > Self.capacity { recent.removeFirst() }
    }
}

/// Which of our queries settle: only their answers say that something will never happen. Bounded: an answer comes soon, and
/// an absence whose question is forgotten is asked about again.
struct SettlingQueries {
    private static let capacity = 64
    private var recent: [String] = []
    private var number: UInt64 = 0

    func contains(_ ref: String) -> Bool { recent.contains(ref) }

    /// The `ref` of the next query.
    mutating func next(settle: Bool) -> String {
        number += 1
        let ref = "q\(number)"
        guard settle else { return ref }
        recent.append(ref)
        if recent.count > Self.capacity { recent.removeFirst() }
        return ref
    }
}

/// Operations this process sent, by which it knows its own echoes. Bounded: an echo comes within the turn.
struct OwnOperations {
    private static let capacity = 256
    private var recent: [OperationID] = []

    func contains(_ id: OperationID) -> Bool { recent.contains(id) }

    mutating func insert(_ id: OperationID) {
        recent.append(id)
        if recent.count > Self.capacity { recent.removeFirst() }
    }
}

/// Alerts that were shown. "Shown once; dropped when older than 10 s" (spec/native-wire.md §2).
struct AlertMemory {
    private static let capacity = 256
    private static let maxAgeMilliseconds: Int64 = 10_000

    private var recent: [AlertID] = []

    mutating func isNew(_ alert: DaemonMessage.SessionAlert, now: WallTime) -> Bool {
        if let at = alert.at, now.milliseconds - at.milliseconds > Self.maxAgeMilliseconds { return false }
        guard let id = alert.alertID else { return true }
        guard !recent.contains(id) else { return false }
        recent.append(id)
        if recent.count > Self.capacity { recent.removeFirst() }
        return true
    }
}
