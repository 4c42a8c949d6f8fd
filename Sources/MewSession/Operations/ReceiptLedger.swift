public import MewIdentity
public import MewWire

/// Remembers what became of operations, so that a repeat gets the original receipt and never runs again (DESIGN §8).
///
/// Pure value: where the store must be asked, it says so, and takes the answer with `learn`. Keyed by the authenticated device
/// and the number it gave the operation.
///
///     admit ─► fresh ──► begin … record (stored) ─► record (done) …
///                         └───► abandon: as if it had never come
///     admit, inquire ─► needsReceipt ─► learn, or abandon when the store cannot be asked
///
/// Whoever is told `needsReceipt` is the only one who asks the store about that operation, until it says what it learned:
/// an answer that was read before somebody else's receipt was stored would undo it.
public struct ReceiptLedger: Sendable {
    /// What to do with an operation that arrives.
    public enum Admission: Sendable, Equatable {
        /// Never seen. It is under way now: `record` or `abandon` must follow.
        case fresh
        /// The same operation came before; this became of it.
        case known(DaemonMessage.Receipt)
        /// The same operation is under way; ask again when it is recorded or abandoned.
        case underWay
        case refused(ErrorCode)
        /// Load the bounds of this device, give them to `learn` and ask again.
        case needsBounds
        /// Look this operation up, give what was found to `learn` (or `abandon` it) and ask again.
        case needsReceipt
    }

    /// What is known of an operation that nobody wants done.
    public enum Inquiry: Sendable, Equatable {
        case known(DaemonMessage.Receipt)
        /// It was never stored. It may still come.
        case absent
        /// Too old to know: its receipt may have been dropped.
        case expired
        /// As with `Admission`.
        case underWay, needsBounds, needsReceipt
    }

    /// What the store has of one operation.
    public enum Found: Sendable {
        /// - Parameter content: SHA-256 of what was asked.
        case receipt(DaemonMessage.Receipt, content: [UInt8])
        /// Nothing. The bounds are those of now, because the store drops receipts while it runs.
        case nothing(OperationBounds)
    }

    private enum Entry: Sendable {
        case underWay(content: [UInt8])
        case kept(content: [UInt8], DaemonMessage.Receipt)
        /// The store is being asked. `newer` was stored meanwhile.
        case asked(newer: DaemonMessage.Receipt?)
        /// Looked for in the store and not there.
        case absent
    }

    private struct Device: Sendable {
        var highest: OperationID?
        var highestEvicted: OperationID?
        var entries: [OperationID: Entry] = [:]
        /// Entries that the store can give back, oldest first.
        var order: [OperationID] = []

        mutating func keep(_ entry: Entry, _ id: OperationID, atMost limit: Int) {
            entries[id] = entry
            order.append(id)
            while order.count > limit { entries[order.removeFirst()] = nil }
        }

        mutating func learn(_ bounds: OperationBounds) {
            highest = [highest, bounds.highest].compactMap(\.self).max()
            highestEvicted = [highestEvicted, bounds.highestEvicted].compactMap(\.self).max()
        }

        /// Whether the receipt of an operation that is not known may have been dropped.
        func hasExpired(_ id: OperationID) -> Bool {
            highestEvicted.map { id <= $0 } ?? false
        }
    }

    /// Stands for the content of an operation that is settled before it was seen; no hash is empty.
    public static let settling: [UInt8] = []

    /// Receipts remembered per device; older ones are asked of the store. People repeat what they did last.
    public static let rememberedPerDevice = 256
    /// Devices remembered. A household has a handful; the bound is for one that pairs for ever.
    public static let rememberedDevices = 256

    private var devices: [NodeID: Device] = [:]
    private let limit: Int

    public init() {
        self.init(rememberedPerDevice: Self.rememberedPerDevice)
    }

    /// - Parameter rememberedPerDevice: fewer, for tests that want the store to be asked often.
    init(rememberedPerDevice: Int) {
        limit = rememberedPerDevice
    }

    /// - Parameter content: SHA-256 of what is asked.
    public mutating func admit(_ key: OperationKey, content: [UInt8]) -> Admission {
        guard var device = devices[key.device] else { return .needsBounds }
        switch device.entries[key.id] {
        case .underWay(let known):
            let mayBecomeKnown = known == content || known == Self.settling || content == Self.settling
            return mayBecomeKnown ? .underWay : .refused(.opConflict)
        case .kept(let known, let receipt): return Self.verdict(known, content, receipt)
        case .asked: return .underWay
        case .absent: break
        case nil: if mustAsk(key) { return .needsReceipt }
        }
        if device.hasExpired(key.id) { return .refused(.opExpired) }
        // The store cannot give it back while it is under way.
        device.order.removeAll { $0 == key.id }
        device.entries[key.id] = .underWay(content: content)
        device.highest = max(device.highest ?? key.id, key.id)
        devices[key.device] = device
        return .fresh
    }

    /// What became of an operation, without admitting it.
    public mutating func inquire(_ key: OperationKey) -> Inquiry {
        guard let device = devices[key.device] else { return .needsBounds }
        switch device.entries[key.id] {
        case .underWay, .asked: return .underWay
        case .kept(_, let receipt): return .known(receipt.repeated)
        case .absent: break
        case nil: if mustAsk(key) { return .needsReceipt }
        }
        return device.hasExpired(key.id) ? .expired : .absent
    }

    /// Only what is not above the highest operation can be in the store. The caller is to ask, and nobody else until then.
    private mutating func mustAsk(_ key: OperationKey) -> Bool {
        guard let highest = devices[key.device]?.highest, key.id <= highest else { return false }
        devices[key.device]?.entries[key.id] = .asked(newer: nil)
        return true
    }

    private static func verdict(
        _ known: [UInt8], _ content: [UInt8], _ receipt: DaemonMessage.Receipt
    ) -> Admission {
        // A settled operation was never seen with a content.
        if receipt.state == .refused, receipt.code == .opSettled { return .refused(.opSettled) }
        guard known == content else { return .refused(.opConflict) }
        return .known(receipt.repeated)
    }

    /// Takes what the store knows about a device.
    public mutating func learn(_ bounds: OperationBounds, of device: NodeID) {
        if devices[device] == nil, devices.count >= Self.rememberedDevices { forgetIdleDevice() }
        devices[device, default: Device()].learn(bounds)
    }

    /// Takes what the store has of one operation, to the one who was told `needsReceipt`.
    public mutating func learn(_ found: Found, for key: OperationKey) {
        guard var device = devices[key.device], case .asked(let newer) = device.entries[key.id] else { return }
        switch found {
        case .receipt(let receipt, let content):
            device.keep(.kept(content: content, newer ?? receipt), key.id, atMost: limit)
        case .nothing(let bounds):
            device.learn(bounds)
            device.keep(.absent, key.id, atMost: limit)
        }
        devices[key.device] = device
    }

    /// The receipt is on the disk.
    public mutating func record(_ receipt: DaemonMessage.Receipt, for key: OperationKey) {
        guard var device = devices[key.device] else { return }
        switch device.entries[key.id] {
        case .underWay(let content):
            device.keep(.kept(content: content, receipt), key.id, atMost: limit)
        case .kept(let content, _):
            device.entries[key.id] = .kept(content: content, receipt)
        case .asked:
            device.entries[key.id] = .asked(newer: receipt)
        case .absent, nil:
            // Remembered by the store alone.
            break
        }
        devices[key.device] = device
    }

    /// Nothing was saved, or the store could not be asked: the operation may come again as if for the first time.
    public mutating func abandon(_ key: OperationKey) {
        guard isUnderWay(key) else { return }
        devices[key.device]?.entries[key.id] = nil
    }

    /// Somebody does it, or asks the store about it.
    public func isUnderWay(_ key: OperationKey) -> Bool {
        switch devices[key.device]?.entries[key.id] {
        case .underWay, .asked: true
        case .kept, .absent, nil: false
        }
    }

    /// For gauges.
    public var remembered: Int { devices.values.reduce(0) { $0 + $1.entries.count } }

    /// Always the same one, so that a simulation repeats itself.
    private mutating func forgetIdleDevice() {
        let idle = devices.filter { $0.value.order.count == $0.value.entries.count }.keys.min()
        if let idle { devices[idle] = nil }
    }
}

extension DaemonMessage.Receipt {
    fileprivate var repeated: DaemonMessage.Receipt {
        var receipt = self
        receipt.isRepeat = true
        return receipt
    }
}
