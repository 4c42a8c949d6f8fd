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
    }

    enum Outcome: Equatable {
        case stored
        /// What is here is as new, or newer.
        case kept
    }

    private let capacity: Int
    private let perSource: Int
    private let lifetime: Duration
    private var entries: [NodeID: Entry] = [:]
    private var ages = AgeList()
    private var agesOfSource: [SourceBudget.Source: AgeList] = [:]

    init(capacity: Int, perSource: Int = RelayLimits().recordsPerSource, lifetime: Duration) {
        self.capacity = capacity
        self.perSource = perSource
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
        if let own = agesOfSource[source], own.count >= perSource, let oldest = own.oldest { forget(oldest) }
        if entries.count >= capacity, let oldest = ages.oldest { forget(oldest) }
        entries[record.node] = Entry(record: record, source: source, stored: now)
        ages.append(record.node)
        agesOfSource[source, default: AgeList()].append(record.node)
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
        ages.remove(node)
        agesOfSource[entry.source]?.remove(node)
        if agesOfSource[entry.source]?.count == 0 { agesOfSource[entry.source] = nil }
    }
}

/// Nodes in the order they were stored: a chain, so that it has no more links than nodes, whoever stores what how often, and
/// each step takes the same time.
struct AgeList {
    private struct Link {
        var older: NodeID?
        var newer: NodeID?
    }

    private var links: [NodeID: Link] = [:]
    private(set) var oldest: NodeID?
    private var newest: NodeID?

    var count: Int { links.count }

    /// - Parameter node: one that is not in the list.
    mutating func append(_ node: NodeID) {
        links[node] = Link(older: newest)
        if let newest { links[newest]?.newer = node } else { oldest = node }
        newest = node
    }

    mutating func remove(_ node: NodeID) {
        guard let link = links.removeValue(forKey: node) else { return }
        if let older = link.older { links[older]?.newer = link.newer } else { oldest = link.newer }
        if let newer = link.newer { links[newer]?.older = link.older } else { newest = link.older }
    }
}
