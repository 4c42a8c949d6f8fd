internal import MewBase

/// The relays that a connection may use, the first one is home. A value.
struct RelayList: Sendable {
    struct Relay: Sendable {
        let url: String
        /// Since when it forwards for us; nil while it does not.
        var connectedSince: Instant?
        /// It was lost while we counted on it.
        var avoidedUntil = Instant.zero
    }

    /// What a dial knows, and as many that the peer tells later. Each is a connection of ours that stays open.
    static let limit = 6
    /// A relay that was lost may be lost again: while another one works, it is not taken back for so long.
    static let probation: Duration = .seconds(60)

    private(set) var all: [Relay] = []

    init(_ urls: [String]) {
        for url in urls { add(url) }
    }

    /// The number of the relay; nil when there is no room for another one.
    @discardableResult
    mutating func add(_ url: String) -> RelayNumber? {
        if let index = all.firstIndex(where: { $0.url == url }) { return RelayNumber(index) }
        guard all.count < Self.limit else { return nil }
        all.append(Relay(url: url))
        return RelayNumber(all.count - 1)
    }

    subscript(number: RelayNumber) -> Relay? {
        all.indices.contains(number.index) ? all[number.index] : nil
    }

    func isConnected(_ number: RelayNumber) -> Bool { self[number]?.connectedSince != nil }

    mutating func changed(_ number: RelayNumber, connectedSince since: Instant?, now: Instant) {
        guard let old = self[number] else { return }
        if old.connectedSince != nil, since != old.connectedSince {
            all[number.index].avoidedUntil = now.advanced(by: Self.probation)
        }
        all[number.index].connectedSince = since
    }

    mutating func forgive() {
        for index in all.indices { all[index].avoidedUntil = .zero }
    }

    /// The connected relays, best first: in their order, but those on probation last.
    func ranked(now: Instant) -> [RelayNumber] {
        let connected = all.indices.filter { all[$0].connectedSince != nil }
        let good = connected.filter { all[$0].avoidedUntil <= now }
        return (good + connected.filter { all[$0].avoidedUntil > now }).map(RelayNumber.init)
    }

    func best(except number: RelayNumber? = nil, now: Instant) -> RelayNumber? {
        ranked(now: now).first { $0 != number }
    }
}
