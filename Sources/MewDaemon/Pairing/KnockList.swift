import MewBase
package import MewIdentity

/// Names one knock on the screen. A key that reconnects gets a new number, because its digits change: a person confirms the
/// digits that were shown and no others.
package struct KnockNumber: Hashable, Sendable, CustomStringConvertible {
    package let value: Int

    package init(_ value: Int) {
        self.value = value
    }

    package var description: String { String(value) }
}

/// A peer that knows the node ID and nothing else, waiting for a person to let it in.
package struct Knock: Equatable, Sendable {
    package let number: KnockNumber
    package let node: NodeID
    /// As it calls itself, cleaned; nil for an old phone, which says nothing.
    package let name: String?
    /// The six digits of the TLS exporter, to be compared with the other screen; nil when that screen cannot show them.
    package let digits: String?
    package let connection: ConnectionNumber
}

/// The knocks that wait: one per key, at most eight, shown at most one a second (DESIGN §11).
///
/// A knock that comes too fast is not lost: it is shown when its second has come.
struct KnockList {
    static let capacity = 8
    /// One source cannot fill the list, so that the device in the operator's hand finds a place.
    static let perSource = 4
    static let pace: Duration = .seconds(1)

    private struct Entry {
        let knock: Knock
        let source: PairingSource
        var isShown: Bool
    }

    private var entries: [Entry] = []
    private var lastNumber = 0
    /// The next knock is not shown before this.
    private var nextShow = Instant.zero

    enum Arrival: Equatable {
        case waiting
        /// The same key's former connection gives way.
        case replaced(ConnectionNumber)
        case full
    }

    mutating func add(
        node: NodeID, name: String?, digits: String?, connection: ConnectionNumber, source: PairingSource
    ) -> Arrival {
        let others = entries.filter { $0.knock.node != node }
        guard others.count < Self.capacity, others.count(where: { $0.source == source }) < Self.perSource else {
            return .full
        }
        let former = entries.first { $0.knock.node == node }
        entries = others
        lastNumber += 1
        let knock = Knock(
            number: KnockNumber(lastNumber), node: node, name: name, digits: digits, connection: connection)
        entries.append(Entry(knock: knock, source: source, isShown: false))
        return former.map { .replaced($0.knock.connection) } ?? .waiting
    }

    /// The knock to show now, if one is due.
    mutating func show(now: Instant) -> Knock? {
        guard now >= nextShow, let index = entries.firstIndex(where: { !$0.isShown }) else { return nil }
        nextShow = now.advanced(by: Self.pace)
        entries[index].isShown = true
        return entries[index].knock
    }

    /// When `show` will next have something; nil when everything is shown.
    var nextDeadline: Instant? {
        entries.contains { !$0.isShown } ? nextShow : nil
    }

    /// Takes out a knock that was shown; nil when it left, was replaced or has never been on the screen.
    mutating func take(_ number: KnockNumber) -> Knock? {
        guard let index = entries.firstIndex(where: { $0.isShown && $0.knock.number == number }) else { return nil }
        return entries.remove(at: index).knock
    }

    /// Takes out the knock of a connection that ended. `wasShown` tells whether the screen has to forget it.
    mutating func remove(_ connection: ConnectionNumber) -> (knock: Knock, wasShown: Bool)? {
        guard let index = entries.firstIndex(where: { $0.knock.connection == connection }) else { return nil }
        let entry = entries.remove(at: index)
        return (entry.knock, entry.isShown)
    }

    /// Takes out everything: the window has closed.
    mutating func removeAll() -> [Knock] {
        defer { entries = [] }
        return entries.map(\.knock)
    }
}
