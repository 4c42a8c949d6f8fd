package import MewBase

/// Connection IDs of ours that are out of use. Packets for them are late, not strange: they get no stateless reset, because
/// a peer that has just migrated may still have some on a slow path (spec/iroh-wire.md §3.3).
package struct RetiredConnectionIDs {
    /// Longer than the slowest path holds a packet.
    package static let lifetime = Duration.seconds(10)

    /// 4,000 connections closed within `lifetime`; beyond it the oldest is forgotten, and a late packet for it gets a
    /// reset that its peer ignores.
    package static let maxCount = 32_768

    private struct Entry {
        let until: Instant
        let farewell: LastWords?
    }

    private var entries: [LocalConnectionID: Entry] = [:]
    private var order = RingQueue<(id: LocalConnectionID, until: Instant)>()

    package init() {}

    package var count: Int { entries.count }

    package mutating func insert(_ id: LocalConnectionID, farewell: LastWords?, now: Instant) {
        expire(now: now)
        while order.count >= Self.maxCount { forgetOldest() }
        let until = now.advanced(by: Self.lifetime)
        entries[id] = Entry(until: until, farewell: farewell)
        order.append((id, until))
    }

    package enum Lookup {
        case unknown
        case retired(LastWords?)
    }

    package mutating func find(_ id: LocalConnectionID, now: Instant) -> Lookup {
        expire(now: now)
        return entries[id].map { .retired($0.farewell) } ?? .unknown
    }

    private mutating func expire(now: Instant) {
        while let oldest = order.first, oldest.until <= now { forgetOldest() }
    }

    private mutating func forgetOldest() {
        guard let oldest = order.popFirst() else { return }
        if entries[oldest.id]?.until == oldest.until { entries[oldest.id] = nil }
    }
}

/// The close packet of one connection, repeated to a peer that missed it.
///
/// A class: all connection IDs of the connection share the count.
package final class LastWords {
    package let farewell: Farewell
    private var packetsSeen = 0

    package init(_ farewell: Farewell) {
        self.farewell = farewell
    }

    /// Whether this packet gets an answer: the first, the second, the fourth, the eighth … (RFC 9000 §10.2.1 asks for a
    /// limit, and for one that needs no clock).
    package func answersNext() -> Bool {
        packetsSeen += 1
        return packetsSeen & (packetsSeen - 1) == 0
    }
}
