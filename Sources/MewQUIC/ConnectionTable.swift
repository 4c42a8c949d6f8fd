internal import MewBase
internal import MewQUICCore

/// The connections of one endpoint, by slot, with what the endpoint itself keeps about each. A value.
struct ConnectionTable {
    struct Entry {
        let connection: Connection
        let role: ConnectionCore.Role
        /// Set while the handshake of an incoming connection is in flight.
        var handshakeSource: AdmissionSource?
        /// Complete, and nobody has authorized it yet.
        var isStranger = false
        var isDirty = false
        /// What the dialler chose as our connection ID.
        var firstChoice: ForeignConnectionID?
        var resetTokens: [ResetToken] = []

        /// Served after the established ones.
        var isUnauthorized: Bool { role == .server && (handshakeSource != nil || isStranger) }
    }

    private var entries: [Entry?] = []
    private var free: [Int] = []
    private(set) var count = 0

    subscript(slot: ConnectionSlot) -> Entry? {
        get { slot.index < entries.count ? entries[slot.index] : nil }
        set { entries[slot.index] = newValue }
    }

    mutating func reserveSlot() -> ConnectionSlot {
        if let index = free.popLast() { return ConnectionSlot(index: index) }
        entries.append(nil)
        return ConnectionSlot(index: entries.count - 1)
    }

    mutating func insert(_ entry: Entry, at slot: ConnectionSlot) {
        entries[slot.index] = entry
        count += 1
    }

    mutating func remove(_ slot: ConnectionSlot) {
        guard entries[slot.index] != nil else { return }
        entries[slot.index] = nil
        free.append(slot.index)
        count -= 1
    }

    /// For a slot that was reserved and not used.
    mutating func giveBack(_ slot: ConnectionSlot) {
        free.append(slot.index)
    }

    /// All connections, in the order of their slots.
    var all: [Connection] { entries.compactMap { $0?.connection } }
}
