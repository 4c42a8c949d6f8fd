internal import MewBase
internal import MewWire

// What a client remembers for a while, each bounded.

/// The last operations that ended, so that whoever asks a moment later still hears how.
struct EndedOperations {
    private static let capacity = 64
    private var recent: [Operation] = []

    subscript(id: OperationID) -> Operation? { recent.last { $0.id == id } }

    func contains(where isWanted: (Operation) -> Bool) -> Bool { recent.contains(where: isWanted) }

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
///
/// Clocks of two machines may be minutes apart (NEEDS N-47), so that a message's age is what it took longer than the fastest one
/// of the connection's last minutes. Not of all of it: a clock that is set while the connection lives, for good or back again,
/// would make every later message look old.
struct AlertMemory: Sendable {
    private static let capacity = 256
    private static let maxAgeMilliseconds: Int64 = 10_000

    private var recent: [AlertID] = []
    /// How long a message tells how far the clocks are apart. Longer than anything is held up on a link that lives; a clock that
    /// is set costs the alerts of this time at most.
    static let spanMilliseconds: Int64 = 600_000
    private static let arrivalCapacity = 64

    /// A message that had a time of the daemon's.
    private struct Arrival {
        /// By our clock.
        let at: WallTime
        /// Our time less the daemon's, in milliseconds.
        let difference: Int64

        /// Also when our clock was set by as much.
        func isOutdated(at now: WallTime) -> Bool {
            let (age, overflow) = now.milliseconds.subtractingReportingOverflow(at.milliseconds)
            return overflow || age.magnitude > UInt64(AlertMemory.spanMilliseconds)
        }
    }

    /// Each came later and slower than the one before; the first one is the fastest.
    private var arrivals: [Arrival] = []

    /// A new connection: the clocks may have been set.
    mutating func begin() { arrivals = [] }

    /// Something that the daemon sent at a time of its own has arrived.
    mutating func heard(sentAt: WallTime, now: WallTime) {
        let difference = now.milliseconds.subtractingReportingOverflow(sentAt.milliseconds)
        guard !difference.overflow else { return }
        let arrival = Arrival(at: now, difference: difference.partialValue)
        arrivals.removeAll { $0.difference >= arrival.difference || $0.isOutdated(at: now) }
        arrivals.append(arrival)
        // The fastest is what the others are measured by.
        if arrivals.count > Self.arrivalCapacity { arrivals.removeLast() }
    }

    mutating func isNew(_ alert: DaemonMessage.SessionAlert, now: WallTime) -> Bool {
        if let at = alert.at, age(of: at, now: now) > Self.maxAgeMilliseconds { return false }
        guard let id = alert.alertID else { return true }
        guard !recent.contains(id) else { return false }
        recent.append(id)
        if recent.count > Self.capacity { recent.removeFirst() }
        return true
    }

    private func age(of sentAt: WallTime, now: WallTime) -> Int64 {
        guard let offset = arrivals.first?.difference else { return 0 }
        let difference = now.milliseconds.subtractingReportingOverflow(sentAt.milliseconds)
        // A time that no clock shows is no reason to say nothing.
        guard !difference.overflow else { return 0 }
        return difference.partialValue.subtractingReportingOverflow(offset).partialValue
    }
}
