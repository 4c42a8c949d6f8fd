internal import MewBase
internal import MewIdentity
internal import MewWire

/// The signed address records a relay keeps for whoever asks (spec/iroh-wire.md §5.3). In memory only: publishers publish
/// again, and a relay that restarts knows nothing that could be old.
struct RecordShelf {
    private struct Entry {
        var record: SignedRecord
        var source: SourceBudget.Source
        var stored: Instant
        /// Which of all stores this was; the lowest is the oldest.
        var order: UInt64
    }

    enum Outcome: Equatable {
        case stored
        /// What is here is as new, or newer.
        case kept
    }

    private let capacity: Int
    private let lifetime: Duration
    private var entries: [NodeID: Entry] = [:]
    private var ages = AgeList()
    private var countOfSource: [SourceBudget.Source: Int] = [:]

    /// Records of one source: a household's devices, and not a list that pushes out everybody else's.
    static let perSource = 256

    init(capacity: Int, lifetime: Duration) {
        self.capacity = capacity
        self.lifetime = lifetime
    }

    var count: Int { entries.count }

    /// A record whose signature was checked. When there is no room the oldest goes: the source's own, if it has its share.
    mutating func store(_ record: SignedRecord, from source: SourceBudget.Source, now: Instant) -> Outcome {
        expire(now)
        if let present = entries[record.node] {
            guard record == present.record || record.isNewer(than: present.record) else { return .kept }
            forget(record.node)
        }
        if (countOfSource[source] ?? 0) >= Self.perSource, let oldest = oldest(of: source) { forget(oldest) }
        if entries.count >= capacity, let oldest = ages.oldest { forget(oldest) }
        entries[record.node] = Entry(record: record, source: source, stored: now, order: ages.append(record.node))
        countOfSource[source, default: 0] += 1
        return .stored
    }

    mutating func find(_ node: NodeID, now: Instant) -> SignedRecord? {
        expire(now)
        return entries[node]?.record
    }

    private mutating func expire(_ now: Instant) {
        while let oldest = ages.oldest, let entry = entries[oldest], entry.stored.duration(to: now) > lifetime {
            forget(oldest)
        }
    }

    private mutating func forget(_ node: NodeID) {
        guard let entry = entries.removeValue(forKey: node) else { return }
        ages.remove(entry.order)
        let left = (countOfSource[entry.source] ?? 1) - 1
        countOfSource[entry.source] = left == 0 ? nil : left
    }

    /// Looks at all of them: only when a source stores more than its share.
    private func oldest(of source: SourceBudget.Source) -> NodeID? {
        entries.filter { $0.value.source == source }.min { $0.value.order < $1.value.order }?.key
    }
}

/// Nodes in the order they were stored. Removing leaves a hole, and holes at the front are swept.
private struct AgeList {
    private var nodes: [NodeID?] = []
    private var first = 0
    private var firstOrder: UInt64 = 0

    var oldest: NodeID? { first < nodes.count ? nodes[first] : nil }

    mutating func append(_ node: NodeID) -> UInt64 {
        nodes.append(node)
        return firstOrder + UInt64(nodes.count - 1)
    }

    mutating func remove(_ order: UInt64) {
        nodes[Int(order - firstOrder)] = nil
        while first < nodes.count, nodes[first] == nil { first += 1 }
        guard first > 1_024, first > nodes.count / 2 else { return }
        nodes.removeSubrange(..<first)
        firstOrder += UInt64(first)
        first = 0
    }
}
