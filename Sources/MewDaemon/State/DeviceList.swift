package import MewIdentity
package import MewWire

/// A device that was let in, now or once.
package struct Device: Sendable {
    package let node: NodeID
    /// Cleaned where it entered; at most 64 scalars.
    package var name: String
    package var scope: Scope
    /// Milliseconds since the Unix epoch, for people to read: nothing is decided by them.
    package let pairedAtMs: UInt64
    /// Nil while the device may enter.
    package var revokedAtMs: UInt64?
    /// The code it came in with. A stock phone repeats it on every connection (spec/mew-wire.md §2.5, D1).
    package let spentCode: PairingDigest?

    package init(
        node: NodeID, name: String, scope: Scope, pairedAtMs: UInt64, revokedAtMs: UInt64? = nil,
        spentCode: PairingDigest?
    ) {
        self.node = node
        self.name = name
        self.scope = scope
        self.pairedAtMs = pairedAtMs
        self.revokedAtMs = revokedAtMs
        self.spentCode = spentCode
    }
}

/// Who may enter: one row for each key, the newest pairing of it.
///
/// Pure value. The rows on disk are written first; this is what the daemon decides by. A revoked device keeps its row, so
/// that it can be told what happened to it.
package struct DeviceList: Sendable {
    /// Far beyond what a person pairs, and a bound on what a leaking script can fill.
    package static let capacity = 1_000

    /// What a key is to this daemon.
    package enum Standing: Sendable {
        case stranger
        case paired(Device)
        case revoked(atMs: UInt64)
    }

    private var rows: [NodeID: Device]

    package init(_ devices: [Device] = []) {
        rows = Dictionary(devices.map { ($0.node, $0) }, uniquingKeysWith: { _, newer in newer })
    }

    package subscript(node: NodeID) -> Device? { rows[node] }

    /// In the order of pairing; ties by key, so that the list never jumps.
    package var devices: [Device] {
        rows.values.sorted { ($0.pairedAtMs, $0.node) < ($1.pairedAtMs, $1.node) }
    }

    /// What this key is now.
    package func standing(of node: NodeID) -> Standing {
        guard let device = rows[node] else { return .stranger }
        return device.revokedAtMs.map { .revoked(atMs: $0) } ?? .paired(device)
    }

    /// The device that came in with this code. Looks at every row whatever it finds.
    package func spender(of code: PairingDigest) -> NodeID? {
        rows.values.reduce(nil) { found, device in
            device.spentCode?.matches(code) == true ? device.node : found
        }
    }

    /// What pairing a device comes to.
    package enum Change: Sendable {
        /// To be written: this row, and without the one that gave way to it.
        case write(Device, dropping: Device?)
        case full
    }

    /// What pairing this device would write. A second pairing of a key replaces its row; a full list gives up the device
    /// that was revoked longest ago, never one that may enter.
    package func pairing(_ device: Device) -> Change {
        guard rows[device.node] == nil, rows.count >= Self.capacity else { return .write(device, dropping: nil) }
        let oldest = rows.values.filter { $0.revokedAtMs != nil }
            .min { ($0.revokedAtMs ?? 0, $0.node) < ($1.revokedAtMs ?? 0, $1.node) }
        return oldest.map { .write(device, dropping: $0) } ?? .full
    }

    /// Takes over what has been written.
    package mutating func apply(_ device: Device, dropping former: Device? = nil) {
        if let former { rows[former.node] = nil }
        rows[device.node] = device
    }
}
