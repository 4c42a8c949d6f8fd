internal import MewQUICCore

/// The connections of one endpoint, by slot.
struct ConnectionTable {
    private var drivers: [ConnectionDriver?] = []
    private var free: [Int] = []
    private(set) var count = 0

    subscript(slot: ConnectionSlot) -> ConnectionDriver? {
        slot.index < drivers.count ? drivers[slot.index] : nil
    }

    mutating func reserveSlot() -> ConnectionSlot {
        if let index = free.popLast() { return ConnectionSlot(index: index) }
        drivers.append(nil)
        return ConnectionSlot(index: drivers.count - 1)
    }

    mutating func insert(_ driver: ConnectionDriver) {
        drivers[driver.slot.index] = driver
        count += 1
    }

    mutating func remove(_ slot: ConnectionSlot) {
        guard drivers[slot.index] != nil else { return }
        drivers[slot.index] = nil
        free.append(slot.index)
        count -= 1
    }

    /// All connections, in the order of their slots.
    var all: [ConnectionDriver] { drivers.compactMap { $0 } }
}
