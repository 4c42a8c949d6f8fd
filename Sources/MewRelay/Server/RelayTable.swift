internal import MewIdentity

/// One connection to a relay. Numbers are never reused.
struct ConnectionNumber: Hashable, Comparable {
    let raw: UInt64

    static func < (left: ConnectionNumber, right: ConnectionNumber) -> Bool { left.raw < right.raw }
}

/// Which connection gets the packets for a node ID (spec/iroh-wire.md §4.6): the newest. Older ones are kept, get nothing, and
/// take over again when it ends.
struct RelayTable {
    private struct Slot {
        var active: ConnectionNumber
        /// Newest last.
        var inactive: [ConnectionNumber] = []
    }

    enum Action: Equatable {
        /// Tell it that the same node is connected elsewhere.
        case displaced(ConnectionNumber)
        /// Tell it that it gets the packets again.
        case promoted(ConnectionNumber)
        /// It is one too many of its node: end it.
        case evict(ConnectionNumber)
        /// The node has no connection any more.
        case gone
    }

    private let inactivePerNode: Int
    private var slots: [NodeID: Slot] = [:]

    init(inactivePerNode: Int) {
        self.inactivePerNode = inactivePerNode
    }

    var nodeCount: Int { slots.count }

    /// Who gets the packets for `node`.
    func active(_ node: NodeID) -> ConnectionNumber? { slots[node]?.active }

    mutating func enter(_ node: NodeID, _ connection: ConnectionNumber) -> [Action] {
        guard var slot = slots[node] else {
            slots[node] = Slot(active: connection)
            return []
        }
        var actions = [Action.displaced(slot.active)]
        slot.inactive.append(slot.active)
        slot.active = connection
        if slot.inactive.count > inactivePerNode { actions.append(.evict(slot.inactive.removeFirst())) }
        slots[node] = slot
        return actions
    }

    /// Also for a connection that is not there any more, because it was evicted.
    mutating func leave(_ node: NodeID, _ connection: ConnectionNumber) -> [Action] {
        guard var slot = slots[node] else { return [] }
        guard slot.active == connection else {
            slot.inactive.removeAll { $0 == connection }
            slots[node] = slot
            return []
        }
        guard let heir = slot.inactive.popLast() else {
            slots[node] = nil
            return [.gone]
        }
        slot.active = heir
        slots[node] = slot
        return [.promoted(heir)]
    }
}
