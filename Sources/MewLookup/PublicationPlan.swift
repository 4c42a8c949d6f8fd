package import MewBase
package import MewWire

/// When a record is published at which relay. A value.
///
/// At once after a change and after a connection to the relay came about (it may have restarted, and relays keep records in
/// memory), then again and again before it lapses; after a failure with a wait that doubles.
package struct PublicationPlan: Sendable {
    package enum State: Hashable, Sendable {
        /// Not tried yet.
        case pending
        case published(at: Instant)
        /// The last try failed; half a sentence.
        case failed(String)
        /// The relay keeps no records: iroh's own do not.
        case keepsNone
    }

    private struct Entry {
        let url: RelayURL
        var state = State.pending
        var due: Instant?
        var isUnderWay = false
        var failures = 0
    }

    private var entries: [Entry]

    /// Relays of ours keep a record for a day; another implementation may be less patient, and one that was full has forgotten.
    package static let refresh: Duration = .seconds(15 * 60)
    package static let firstRetry: Duration = .seconds(1)
    package static let longestRetry: Duration = .seconds(5 * 60)

    package init(_ relays: [RelayURL]) {
        entries = relays.map { Entry(url: $0) }
    }

    package var states: [RelayURL: State] {
        Dictionary(entries.map { ($0.url, $0.state) }) { first, _ in first }
    }

    /// There is a new record.
    package mutating func changed(now: Instant) {
        for index in entries.indices {
            entries[index].due = now
            entries[index].failures = 0
        }
    }

    /// There is a new connection to the relay.
    package mutating func connected(_ url: RelayURL, now: Instant) {
        change(url) { entry in
            // Before the first record there is nothing to publish.
            guard entry.due != nil else { return }
            entry.due = now
            entry.failures = 0
        }
    }

    /// The relays at which it is time; each is asked once until `ended` says how that went.
    package mutating func take(now: Instant) -> [RelayURL] {
        var taken: [RelayURL] = []
        for index in entries.indices where !entries[index].isUnderWay {
            guard let due = entries[index].due, due <= now else { continue }
            entries[index].isUnderWay = true
            // What changes meanwhile makes it due again.
            entries[index].due = now.advanced(by: Self.refresh)
            taken.append(entries[index].url)
        }
        return taken
    }

    package mutating func ended(_ url: RelayURL, _ failure: LookupFailure?, now: Instant) {
        change(url) { entry in
            entry.isUnderWay = false
            switch failure {
            case nil:
                entry.state = .published(at: now)
                entry.failures = 0
            case .status(404), .status(405), .status(501): entry.state = .keepsNone
            case .some(let failure):
                entry.state = .failed(failure.description)
                let wait = min(Self.firstRetry * (1 << min(entry.failures, 10)), Self.longestRetry)
                entry.failures += 1
                entry.due = min(entry.due ?? .distantFuture, now.advanced(by: wait))
            }
        }
    }

    package var nextDeadline: Instant? {
        entries.filter { !$0.isUnderWay }.compactMap(\.due).min()
    }

    private mutating func change(_ url: RelayURL, _ body: (inout Entry) -> Void) {
        guard let index = entries.firstIndex(where: { $0.url == url }) else { return }
        body(&entries[index])
    }
}
