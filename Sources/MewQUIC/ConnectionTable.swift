internal import MewBase
internal import MewQUICCore

/// The connections of one endpoint, by slot, with what the endpoint itself keeps about each.
struct ConnectionTable {
    /// A class: looked up for every packet, and a copy would count four references.
    final class Entry {
        let connection: Connection
        let role: ConnectionCore.Role
        /// Set while the handshake of an incoming connection is in flight.
        var handshake: Newcomer?
        /// Complete, and nobody has authorized it yet.
        var isStranger = false
        var isDirty = false
        /// What the dialler chose as our connection ID.
        var firstChoice: ForeignConnectionID?
        var resetTokens: [ResetToken] = []

        init(_ connection: Connection) {
            self.connection = connection
            role = connection.role
        }

        /// Served after the established ones.
        var isUnauthorized: Bool { role == .server && (handshake != nil || isStranger) }
    }

    private var entries: [Entry?] = []
    private var free: [Int] = []
    private(set) var count = 0

    subscript(slot: ConnectionSlot) -> Entry? {
        slot.index < entries.count ? entries[slot.index] : nil
    }

    mutating func reserveSlot() -> ConnectionSlot {
        if let index = free.popLast() { return ConnectionSlot(index: index) }
        entries.append(nil)
        return ConnectionSlot(index: entries.count - 1)
    }

    mutating func insert(_ connection: Connection, at slot: ConnectionSlot) {
        entries[slot.index] = Entry(connection)
        count += 1
    }

    mutating func remove(_ slot: ConnectionSlot) {
        guard entries[slot.index] != nil else { return }
        entries[slot.index] = nil
        free.append(slot.index)
        count -= 1
    }

    /// All connections, in the order of their slots.
    var all: [Connection] { entries.compactMap { $0?.connection } }
}
