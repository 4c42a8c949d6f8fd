package import MewBase

/// Names a connection within one endpoint: an index into its table.
package struct ConnectionSlot: Hashable, Sendable {
    package let index: Int

    package init(index: Int) {
        self.index = index
    }
}

/// Says to which connection a datagram belongs, and what to do with one that belongs to none. A value; it sends nothing.
///
/// Only packets whose connection ID is known reach the library (spec/iroh-wire.md §3.3 rule A): ngtcp2 1.11 would take a
/// stateless reset for a retired ID seriously.
package struct Demultiplexer {
    private var local: [LocalConnectionID: ConnectionSlot] = [:]
    /// The dialler's random first choice, until its handshake is done (RFC 9000 §7.2). Retransmitted and copied Initials
    /// carry it.
    private var firstChoices: [ForeignConnectionID: ConnectionSlot?] = [:]
    /// First choices of connections that are over: late copies of a first flight must not make another connection.
    private var staleChoices = RingQueue<(id: ForeignConnectionID, until: Instant)>()
    private var resetTokens: [ResetToken: ConnectionSlot] = [:]
    private var retired = RetiredConnectionIDs()

    package init() {}

    package enum Verdict {
        case connection(ConnectionSlot)
        /// A dialler that is not known yet.
        case initial
        /// A short packet for nobody: perhaps the reset of a peer that lost its state.
        case stranger(LocalConnectionID)
        /// For a connection that is over.
        case late(LastWords?)
        case foreignVersion(destination: [UInt8], source: [UInt8])
        case stun
        case noise
    }

    package mutating func route(_ datagram: UnsafeRawBufferPointer, now: Instant) -> Verdict {
        switch PacketHead(datagram) {
        case .stun: return .stun
        case .unknown: return .noise
        case .foreignVersion(let destination, let source):
            return .foreignVersion(destination: destination, source: source)
        case .versionNegotiation(let destination):
            guard case .some(.some(let slot)) = slot(of: destination) else { return .noise }
            return .connection(slot)
        case .short(let id):
            if let slot = local[id] { return .connection(slot) }
            return late(id, now: now) ?? .stranger(id)
        case .long(let destination, let isInitial):
            expireChoices(now: now)
            if let known = slot(of: destination) { return known.map { .connection($0) } ?? .late(nil) }
            if let id = destination.local, let verdict = late(id, now: now) { return verdict }
            return isInitial ? .initial : .noise
        }
    }

    private mutating func late(_ id: LocalConnectionID, now: Instant) -> Verdict? {
        switch retired.find(id, now: now) {
        case .unknown: nil
        case .retired(let words): .late(words)
        }
    }

    private func slot(of destination: ForeignConnectionID) -> ConnectionSlot?? {
        if let id = destination.local, let slot = local[id] { return slot }
        return firstChoices[destination]
    }

    private mutating func expireChoices(now: Instant) {
        while let oldest = staleChoices.first, oldest.until <= now {
            _ = staleChoices.popFirst()
            firstChoices[oldest.id] = nil
        }
    }

    // MARK: Registration

    package mutating func register(_ id: LocalConnectionID, for slot: ConnectionSlot) {
        local[id] = slot
    }

    /// - Parameter words: what to say when packets still come; nil for silence.
    package mutating func retire(_ id: LocalConnectionID, words: LastWords? = nil, now: Instant) {
        local[id] = nil
        retired.insert(id, farewell: words, now: now)
    }

    package mutating func registerFirstChoice(_ id: ForeignConnectionID, for slot: ConnectionSlot) {
        firstChoices[id] = slot
    }

    /// The connection is over; its first choice stays known for a while, for copies that are still on their way.
    package mutating func retireFirstChoice(_ id: ForeignConnectionID, now: Instant) {
        guard firstChoices[id] != nil else { return }
        firstChoices[id] = .some(nil)
        staleChoices.append((id, now.advanced(by: RetiredConnectionIDs.lifetime)))
        if staleChoices.count > RetiredConnectionIDs.maxCount, let oldest = staleChoices.popFirst() {
            firstChoices[oldest.id] = nil
        }
    }

    /// Replaces the reset tokens that the peer of `slot` gave us.
    package mutating func replaceResetTokens(_ old: [ResetToken], with new: [ResetToken], for slot: ConnectionSlot) {
        for token in old { resetTokens[token] = nil }
        for token in new { resetTokens[token] = slot }
    }

    /// The connection that the last 16 bytes of `datagram` would end, if they came on the right path at the right time.
    package func resetTarget(_ datagram: UnsafeRawBufferPointer) -> (slot: ConnectionSlot, token: ResetToken)? {
        guard datagram.count >= ResetKey.minPacketBytes,
            let token = ResetToken(UnsafeRawBufferPointer(rebasing: datagram.suffix(ResetToken.byteCount))),
            let slot = resetTokens[token]
        else { return nil }
        return (slot, token)
    }

    package var counts: (local: Int, firstChoices: Int, resetTokens: Int, retired: Int) {
        (local.count, firstChoices.count, resetTokens.count, retired.count)
    }
}

extension ForeignConnectionID {
    /// The same ID as one of ours, when it has our length.
    var local: LocalConnectionID? {
        byteCount == LocalConnectionID.byteCount ? LocalConnectionID(value: firstWord) : nil
    }
}
