public import MewIdentity
public import MewWire

/// Remembers what became of operations, so that a repeat gets the original receipt and never runs again (DESIGN §8).
///
/// Pure value: where the store must be asked, it says so, and takes the answer with `learn`. Keyed by the authenticated device
/// and the number it gave the operation.
///
///     admit ─► fresh ──► begin … record (stored) ─► record (done) …
///                         └───► abandon: as if it had never come
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
        /// Load the receipt of this operation, give it (or nil) to `learn` and ask again.
        case needsReceipt
    }

    private enum Entry: Sendable {
        case underWay(content: [UInt8])
        case kept(content: [UInt8], DaemonMessage.Receipt)
        /// Looked for in the store and not there.
        case absent
    }

    private struct Device: Sendable {
        var highest: OperationID?
        var highestEvicted: OperationID?
        var entries: [OperationID: Entry] = [:]
        /// Entries that the store can give back, oldest first.
        var order: [OperationID] = []

        mutating func trim() {
            while order.count > ReceiptLedger.rememberedPerDevice { entries[order.removeFirst()] = nil }
        }
    }

    /// Stands for the content of an operation that is settled before it was seen; no hash is empty.
    public static let settling: [UInt8] = []

    /// Receipts remembered per device; older ones are asked of the store. People repeat what they did last.
    public static let rememberedPerDevice = 256
    /// Devices remembered. A household has a handful; the bound is for one that pairs for ever.
    public static let rememberedDevices = 256

    private var devices: [NodeID: Device] = [:]

    public init() {}

    /// - Parameter content: SHA-256 of what is asked.
    public mutating func admit(_ key: OperationKey, content: [UInt8]) -> Admission {
        guard var device = devices[key.device] else { return .needsBounds }
        if let entry = device.entries[key.id] {
            switch entry {
            case .underWay(let known):
                let mayBecomeKnown = known == content || known == Self.settling || content == Self.settling
                return mayBecomeKnown ? .underWay : .refused(.opConflict)
            case .kept(let known, let receipt): return Self.verdict(known, content, receipt)
            case .absent:
                // The store cannot give it back while it is under way.
                device.order.removeAll { $0 == key.id }
            }
        } else if let highest = device.highest, key.id <= highest {
            return .needsReceipt
        }
        if let evicted = device.highestEvicted, key.id <= evicted { return .refused(.opExpired) }
        device.entries[key.id] = .underWay(content: content)
        device.highest = max(device.highest ?? key.id, key.id)
        devices[key.device] = device
        return .fresh
    }

    private static func verdict(
        _ known: [UInt8], _ content: [UInt8], _ receipt: DaemonMessage.Receipt
    ) -> Admission {
        // A settled operation was never seen with a content.
        if receipt.state == .refused, receipt.code == .opSettled { return .refused(.opSettled) }
        guard known == content else { return .refused(.opConflict) }
        var receipt = receipt
        receipt.isRepeat = true
        return .known(receipt)
    }

    /// Takes what the store knows about a device.
    public mutating func learn(_ bounds: OperationBounds, of device: NodeID) {
        guard devices[device] == nil else { return }
        if devices.count >= Self.rememberedDevices { forgetIdleDevice() }
        devices[device] = Device(highest: bounds.highest, highestEvicted: bounds.highestEvicted)
    }

    /// Takes what the store knows about one operation.
    public mutating func learn(_ receipt: DaemonMessage.Receipt?, content: [UInt8], for key: OperationKey) {
        guard var device = devices[key.device], device.entries[key.id] == nil else { return }
        device.entries[key.id] = receipt.map { .kept(content: content, $0) } ?? .absent
        device.order.append(key.id)
        device.trim()
        devices[key.device] = device
    }

    /// The receipt is on the disk.
    public mutating func record(_ receipt: DaemonMessage.Receipt, for key: OperationKey) {
        guard var device = devices[key.device] else { return }
        switch device.entries[key.id] {
        case .underWay(let content):
            device.entries[key.id] = .kept(content: content, receipt)
            device.order.append(key.id)
            device.trim()
        case .kept(let content, _):
            device.entries[key.id] = .kept(content: content, receipt)
        case .absent, nil:
            // Remembered by the store alone.
            break
        }
        devices[key.device] = device
    }

    /// Nothing was saved: the operation may come again as if for the first time.
    public mutating func abandon(_ key: OperationKey) {
        guard case .underWay = devices[key.device]?.entries[key.id] else { return }
        devices[key.device]?.entries[key.id] = nil
    }

    /// What is known of an operation without admitting it; nil means that the store must be asked.
    public func receipt(of key: OperationKey) -> DaemonMessage.Receipt? {
        guard case .kept(_, let receipt) = devices[key.device]?.entries[key.id] else { return nil }
        return receipt
    }

    public func isUnderWay(_ key: OperationKey) -> Bool {
        guard case .underWay = devices[key.device]?.entries[key.id] else { return false }
        return true
    }

    /// For gauges.
    public var remembered: Int { devices.values.reduce(0) { $0 + $1.entries.count } }

    private mutating func forgetIdleDevice() {
        let idle = devices.first { $0.value.order.count == $0.value.entries.count }
        if let idle { devices[idle.key] = nil }
    }
}
