internal import MewBase

/// The relays that a connection may use, and to which of them legs are kept. A value.
///
/// Two legs are kept: to the relay in use and to the one that would be next, in the order in which the peer names them (home
/// first). While the peer is sought, to all.
struct RelayList: Sendable {
    struct Relay: Sendable {
        let url: String
        /// Since when it forwards for us; nil while it does not.
        var connectedSince: Instant?
        /// It was lost while we counted on it.
        var avoidedUntil = Instant.zero
        /// A leg is kept.
        var isHeld = false
        /// Since when a leg that is kept does not forward.
        var downSince: Instant?
        /// No leg is tried before.
        var notBefore = Instant.zero
    }

    /// As many as a node may be reached at (`HomeChoice.maxCandidates`).
    static let limit = 8
    /// The one in use and a standby (DESIGN §7).
    static let maxLegs = 2
    /// A relay that was lost may be lost again: while another one works, it is not taken back for so long.
    static let probation: Duration = .seconds(60)
    /// A leg that does not forward for so long gives its place to another one, as the peer's does (`HomeChoice.replaceAfter`).
    static let replaceAfter: Duration = .seconds(5)

    private(set) var all: [Relay] = []
    /// Indices, the best first.
    private var order: [Int] = []
    /// How many of `order` the peer has named last.
    private var advertised = 0

    init(_ urls: [String]) {
        for url in urls { add(url) }
    }

    /// The number of the relay; nil when there is no room for another one.
    @discardableResult
    mutating func add(_ url: String) -> RelayNumber? {
        if let index = all.firstIndex(where: { $0.url == url }) { return RelayNumber(index) }
        guard all.count < Self.limit else { return nil }
        order.append(all.count)
        all.append(Relay(url: url))
        return RelayNumber(all.count - 1)
    }

    /// The peer is at these relays now, home first.
    mutating func advertise(_ numbers: [RelayNumber]) {
        guard !numbers.isEmpty else { return }
        var first: [Int] = []
        for number in numbers where !first.contains(number.index) { first.append(number.index) }
        advertised = first.count
        order = first + order.filter { !first.contains($0) }
    }

    subscript(number: RelayNumber) -> Relay? {
        all.indices.contains(number.index) ? all[number.index] : nil
    }

    func isConnected(_ number: RelayNumber) -> Bool { self[number]?.connectedSince != nil }

    /// It was lost a short while ago.
    func isOnProbation(_ number: RelayNumber, now: Instant) -> Bool {
        self[number].map { $0.avoidedUntil > now } ?? false
    }

    /// False when the peer has named its relays and this is none of them.
    func isAdvertised(_ number: RelayNumber) -> Bool {
        advertised == 0 || order.prefix(advertised).contains(number.index)
    }

    mutating func changed(_ number: RelayNumber, connectedSince since: Instant?, now: Instant) {
        guard let old = self[number] else { return }
        if old.connectedSince != nil, since != old.connectedSince {
            all[number.index].avoidedUntil = now.advanced(by: Self.probation)
        }
        all[number.index].connectedSince = since
        all[number.index].downSince = since == nil ? old.downSince ?? now : nil
    }

    mutating func forgive() {
        for index in all.indices { (all[index].avoidedUntil, all[index].notBefore) = (.zero, .zero) }
    }

    /// The connected relays, best first: in their order, but those on probation last.
    func ranked(now: Instant) -> [RelayNumber] {
        let connected = order.filter { all[$0].connectedSince != nil }
        let good = connected.filter { all[$0].avoidedUntil <= now }
        return (good + connected.filter { all[$0].avoidedUntil > now }).map(RelayNumber.init)
    }

    func best(except number: RelayNumber? = nil, now: Instant) -> RelayNumber? {
        ranked(now: now).first { $0 != number }
    }

    // MARK: - Legs

    /// To which legs are kept.
    var held: [RelayNumber] { order.filter { all[$0].isHeld }.map(RelayNumber.init) }

    /// Chooses them.
    ///
    /// - Parameters:
    ///   - used: carries the connection.
    ///   - everywhere: the peer is sought.
    mutating func hold(_ used: RelayNumber?, everywhere: Bool, now: Instant) {
        replaceLost(used, now)
        var wanted: [Int] = []
        if let used { wanted.append(used.index) }
        // One that was given up comes last.
        let others = order.filter { $0 != used?.index }
        let free = others.filter { all[$0].notBefore <= now }
        for index in free + others.filter({ all[$0].notBefore > now }) where everywhere || wanted.count < Self.maxLegs {
            wanted.append(index)
        }
        for index in all.indices { hold(index, wanted.contains(index), now) }
    }

    private mutating func hold(_ index: Int, _ isWanted: Bool, _ now: Instant) {
        guard all[index].isHeld != isWanted else { return }
        all[index].isHeld = isWanted
        if !isWanted { all[index].connectedSince = nil }
        all[index].downSince = isWanted && all[index].connectedSince == nil ? now : nil
    }

    private mutating func replaceLost(_ used: RelayNumber?, _ now: Instant) {
        for index in all.indices where all[index].isHeld && index != used?.index {
            guard let down = all[index].downSince, down.duration(to: now) >= Self.replaceAfter else { continue }
            all[index].notBefore = max(all[index].notBefore, now.advanced(by: Self.probation))
        }
    }

    /// When time alone may change which legs are kept: one that does not forward gives way, if there is another one.
    func nextReplacement(now: Instant) -> Instant? {
        let down = all.filter { $0.isHeld && $0.downSince != nil }
        guard !down.isEmpty, all.count > Self.maxLegs else { return nil }
        let due = down.compactMap { $0.downSince?.advanced(by: Self.replaceAfter) }
        return (due + all.filter { !$0.isHeld }.map(\.notBefore)).filter { $0 > now }.min()
    }
}
