internal import MewBase
internal import MewIdentity
internal import MewWire

/// The signed address records a relay keeps for whoever asks (spec/iroh-wire.md §5.3). In memory only: publishers publish
/// again, and a relay that restarts knows nothing that could be old.
///
/// Anybody can put a record here that somebody else has signed: it is public. So each source has a claim of its own on what it
/// puts, within its share, and a record goes only when nobody has a claim on it any more: who puts a record of another's and
/// then uses up its share loses its own claim, not the other's. The time a record lives begins with a newer one, which only
/// the node itself can sign, and not with the same again.
struct RecordShelf {
    private struct Entry {
        var record: SignedRecord
        /// In the order they came, never empty.
        var claims: [SourceBudget.Source]
        var stored: Instant
    }

    enum Outcome: Equatable {
        case stored
        /// What is here is as new, or newer.
        case kept
    }

    /// Claims on one record: a node that goes from network to network, and some who put its record for it.
    static let maxClaims = 4

    private let capacity: Int
    private let perSource: Int
    private let lifetime: Duration
    private var entries: [NodeID: Entry] = [:]
    private var ages = AgeList()
    private var claimsOfSource: [SourceBudget.Source: AgeList] = [:]

    init(capacity: Int, perSource: Int = RelayLimits().recordsPerSource, lifetime: Duration) {
        self.capacity = capacity
        self.perSource = perSource
        self.lifetime = lifetime
    }

    var count: Int { entries.count }

    /// A record whose signature was checked. When there is no room the oldest goes: the source's own, if it has its share.
    mutating func store(_ record: SignedRecord, from source: SourceBudget.Source, now: Instant) -> Outcome {
        expire(now)
        let node = record.node
        let present = entries[node]
        if let present, !record.isNewer(than: present.record) {
            // The same from its node, which somebody else put first: it has to be kept for the node as well. When there is
            // no room for that, the next newer one makes some.
            if record == present.record, present.claims.count < Self.maxClaims { claim(node, for: source) }
            return .kept
        }
        if present == nil, entries.count >= capacity, let oldest = ages.oldest { forget(oldest) }
        entries[node] = Entry(record: record, claims: present?.claims ?? [], stored: now)
        ages.remove(node)
        ages.append(node)
        renew(node, for: source)
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
        for source in entry.claims { removeFromShare(node, of: source) }
    }

    // MARK: - Claims

    /// The newest of `source` from now on. Who brings what is newer is likely to be the node, and gets a claim in any case.
    private mutating func renew(_ node: NodeID, for source: SourceBudget.Source) {
        guard let claims = entries[node]?.claims else { return }
        if claims.contains(source) {
            claimsOfSource[source]?.remove(node)
            claimsOfSource[source, default: AgeList()].append(node)
            return
        }
        if claims.count >= Self.maxClaims, let oldest = claims.first { drop(node, of: oldest) }
        claim(node, for: source)
    }

    private mutating func claim(_ node: NodeID, for source: SourceBudget.Source) {
        guard entries[node]?.claims.contains(source) == false else { return }
        if let own = claimsOfSource[source], own.count >= perSource, let oldest = own.oldest {
            drop(oldest, of: source)
        }
        entries[node]?.claims.append(source)
        claimsOfSource[source, default: AgeList()].append(node)
    }

    /// A record on which nobody has a claim any more is forgotten.
    private mutating func drop(_ node: NodeID, of source: SourceBudget.Source) {
        entries[node]?.claims.removeAll { $0 == source }
        removeFromShare(node, of: source)
        if entries[node]?.claims.isEmpty == true { forget(node) }
    }

    private mutating func removeFromShare(_ node: NodeID, of source: SourceBudget.Source) {
        claimsOfSource[source]?.remove(node)
        if claimsOfSource[source]?.count == 0 { claimsOfSource[source] = nil }
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
