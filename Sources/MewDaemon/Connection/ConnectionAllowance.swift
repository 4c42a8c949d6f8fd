import MewWire

/// What one connection may make us keep: frames that wait to be read, pages that are on their way to it, beginnings of messages.
///
/// What the transport holds comes on top (`TransportConfiguration`). A device may have a thousand connections, which together are
/// bounded by `DeviceAllowance`.
struct ConnectionAllowance: Sendable {
    /// One message of the largest size, or two channels that are as far behind as a channel may be (`ClientQueue`). With words
    /// that wait (`SessionCore.maxWaitingBytes`) and what the transport holds it is what a client may cost.
    static let maxBytes = 10 << 20

    let bytes: ByteBudget

    init(within device: DeviceAllowance) {
        bytes = ByteBudget(maxBytes: Self.maxBytes, within: device.bytes)
    }
}
