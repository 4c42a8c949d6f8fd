internal import MewBase
internal import MewIdentity

// The bytes of capsules.

extension RelayCapsule {
    package var encoded: [UInt8] {
        switch self {
        case .datagram(let payload): return Self.capsule(0, payload)
        case .welcome(let welcome): return Self.capsule(Self.base, welcome.encoded)
        case .bind(let handle, let node): return Self.capsule(Self.base + 1, Self.integers(handle) + node.bytes)
        case .bound(let handle): return Self.capsule(Self.base + 2, Self.integers(handle))
        case .release(let handle): return Self.capsule(Self.base + 3, Self.integers(handle))
        case .ping(let value): return Self.capsule(Self.base + 4, value.bigEndianBytes)
        case .pong(let value): return Self.capsule(Self.base + 5, value.bigEndianBytes)
        case .gone(let node): return Self.capsule(Self.base + 6, node.bytes)
        case .health(let health): return Self.capsule(Self.base + 7, [health.code])
        case .warning(let cutInMs, let returnInMs, let reason):
            return Self.capsule(Self.base + 8, Self.integers([cutInMs, returnInMs]) + Array(Self.clipped(reason).utf8))
        case .close(let code, let reason):
            return Self.capsule(Self.base + 9, Self.integers([code]) + Array(Self.clipped(reason).utf8))
        }
    }

    private static func capsule(_ type: UInt64, _ payload: [UInt8]) -> [UInt8] {
        integers([type, UInt64(payload.count)]) + payload
    }

    private static func integers(_ handle: RelayHandle) -> [UInt8] { integers([UInt64(handle.number)]) }

    fileprivate static func integers(_ values: [UInt64]) -> [UInt8] {
        var bytes: [UInt8] = []
        for value in values { QUICInteger.append(min(value, QUICInteger.max), to: &bytes) }
        return bytes
    }

    /// Whole characters only.
    fileprivate static func clipped(_ reason: String) -> String {
        var text = reason
        while text.utf8.count > maxReasonBytes { text.removeLast() }
        return text
    }

    /// Nil for a type that is not known here: it is passed over.
    static func decode(_ type: UInt64, _ payload: [UInt8]) throws(RelayCapsuleError) -> RelayCapsule? {
        if type == 0 { return .datagram(payload) }
        guard type >= base, type <= base + 9 else { return nil }
        var rest = CapsuleFields(payload)
        guard let capsule = decode(type - base, &rest) else { throw .malformed(type: type) }
        return capsule
    }

    private static func decode(_ number: UInt64, _ fields: inout CapsuleFields) -> RelayCapsule? {
        switch number {
        case 0: RelayWelcome(&fields).map(RelayCapsule.welcome)
        case 1: fields.handle().flatMap { handle in fields.node().map { .bind(handle, $0) } }
        case 2: fields.handle().map(RelayCapsule.bound)
        case 3: fields.handle().map(RelayCapsule.release)
        case 4: fields.number(8).map(RelayCapsule.ping)
        case 5: fields.number(8).map(RelayCapsule.pong)
        case 6: fields.node().map(RelayCapsule.gone)
        case 7: fields.number(1).map { .health(RelayHealth(code: UInt8($0))) }
        case 8:
            fields.integer().flatMap { cut in
                fields.integer().map { .warning(cutInMs: cut, returnInMs: $0, reason: fields.text()) }
            }
        case 9: fields.integer().map { .close(code: $0, reason: fields.text()) }
        default: nil
        }
    }
}

extension RelayWelcome {
    fileprivate var encoded: [UInt8] {
        let numbers = [maxPacketBytes, handles, queueMs, queuedPackets, bytesPerSecond]
        let address: [UInt8] =
            switch observed.family {
            case .ipv4: [4] + UInt32(truncatingIfNeeded: observed.high >> 32).bigEndianBytes
            case .ipv6: [6] + observed.high.bigEndianBytes + observed.low.bigEndianBytes
            }
        return RelayCapsule.integers(numbers) + address + observed.port.bigEndianBytes
    }

    fileprivate init?(_ fields: inout CapsuleFields) {
        guard let size = fields.integer(), let handles = fields.integer(), let time = fields.integer(),
            let packets = fields.integer(), let rate = fields.integer(), let observed = fields.address()
        else { return nil }
        self.init(
            maxPacketBytes: size, handles: handles, queueMs: time, queuedPackets: packets, bytesPerSecond: rate,
            observed: observed)
    }
}

/// What stands in a capsule, part by part.
private struct CapsuleFields {
    private var rest: ArraySlice<UInt8>

    init(_ payload: [UInt8]) {
        rest = payload[...]
    }

    mutating func integer() -> UInt64? {
        guard let (value, count) = rest.withUnsafeBytes({ QUICInteger.read($0) }) else { return nil }
        rest = rest.dropFirst(count)
        return value
    }

    mutating func handle() -> RelayHandle? { integer().flatMap { RelayHandle($0) } }

    mutating func node() -> NodeID? {
        guard rest.count >= NodeID.byteCount else { return nil }
        defer { rest = rest.dropFirst(NodeID.byteCount) }
        return NodeID(bytes: rest.prefix(NodeID.byteCount))
    }

    /// Of so many bytes, big endian.
    mutating func number(_ count: Int) -> UInt64? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func address() -> SocketAddress? {
        switch number(1) {
        case 4:
            guard let address = number(4), let port = number(2) else { return nil }
            return SocketAddress(ipv4: UInt32(address), port: UInt16(port))
        case 6:
            guard let high = number(8), let low = number(8), let port = number(2) else { return nil }
            return SocketAddress(ipv6High: high, low: low, port: UInt16(port))
        default: return nil
        }
    }

    /// All that is left, as far as a sentence goes.
    mutating func text() -> String {
        defer { rest = [] }
        return RelayCapsule.clipped(String(decoding: rest, as: UTF8.self))
    }
}
