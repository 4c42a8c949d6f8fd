internal import MewBase
internal import MewIdentity
internal import MewWire

/// The handles that we have bound to nodes, for what we send (ARCHITECTURE.md, "Relay over HTTP/3"). A value.
struct OutgoingHandles {
    enum Answer: Equatable {
        /// Datagrams may bear it.
        case bound(RelayHandle)
        /// Not known to be understood yet: what is sent goes behind the capsule that binds it.
        case binding(RelayHandle)
        /// Bind it first; when there is `released`, release that before.
        case new(RelayHandle, released: RelayHandle?)
    }

    private struct Entry {
        let handle: RelayHandle
        var isBound = false
        /// Counts uses, which is cheaper than a look at the clock.
        var used: UInt64
    }

    private var entries: [NodeID: Entry] = [:]
    private var nodes: [RelayHandle: NodeID] = [:]
    /// Not to be used again before that time: datagrams with the old meaning may still be on their way.
    private var resting: [(handle: RelayHandle, until: Instant)] = []
    private var unused: UInt16 = 0
    private var uses: UInt64 = 0
    private let limit: Int

    /// Longer than any packet is under way.
    static let rest: Duration = .seconds(10)

    init(limit: Int) {
        self.limit = max(1, min(limit, Int(RelayHandle.max) / 2))
    }

    var count: Int { entries.count }

    /// How to say `node`; nil when every handle rests.
    mutating func find(_ node: NodeID, now: Instant) -> Answer? {
        uses += 1
        if let entry = entries[node] {
            entries[node]?.used = uses
            return entry.isBound ? .bound(entry.handle) : .binding(entry.handle)
        }
        let released = entries.count >= limit ? releaseOldest(now: now) : nil
        guard let handle = takeFree(now: now) else { return nil }
        entries[node] = Entry(handle: handle, used: uses)
        nodes[handle] = node
        return .new(handle, released: released)
    }

    /// The other side has said that it understands the handle; one that we do not use any more means nothing.
    mutating func understood(_ handle: RelayHandle) {
        guard let node = nodes[handle] else { return }
        entries[node]?.isBound = true
    }

    private mutating func releaseOldest(now: Instant) -> RelayHandle? {
        guard let (node, entry) = entries.min(by: { $0.value.used < $1.value.used }) else { return nil }
        entries[node] = nil
        nodes[entry.handle] = nil
        resting.append((entry.handle, now.advanced(by: Self.rest)))
        return entry.handle
    }

    private mutating func takeFree(now: Instant) -> RelayHandle? {
        if let first = resting.first, first.until <= now { return resting.removeFirst().handle }
        guard let handle = RelayHandle(UInt64(unused)) else { return nil }
        unused += 1
        return handle
    }
}

/// The handles that the other side has bound, for what comes. A value.
struct IncomingHandles {
    private var nodes: [RelayHandle: NodeID] = [:]
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { nodes.count }

    /// False when the other side binds more than it may.
    mutating func bind(_ handle: RelayHandle, to node: NodeID) -> Bool {
        guard nodes[handle] != nil || nodes.count < limit else { return false }
        nodes[handle] = node
        return true
    }

    mutating func release(_ handle: RelayHandle) {
        nodes[handle] = nil
    }

    func node(_ handle: RelayHandle) -> NodeID? { nodes[handle] }

    /// Whom a datagram's payload is about, and the packet; nil when the handle is not bound, or there is nothing behind it.
    func read(_ payload: UnsafeRawBufferPointer) -> (node: NodeID, packet: UnsafeRawBufferPointer)? {
        guard let (number, count) = QUICInteger.read(payload), count < payload.count, let handle = RelayHandle(number),
            let node = nodes[handle]
        else { return nil }
        return (node, UnsafeRawBufferPointer(rebasing: payload[count...]))
    }
}
