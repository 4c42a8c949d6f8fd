internal import MewBase

/// Something on its way to a socket.
struct Flight {
    enum Kind {
        case packet
        /// An ICMP error on its way back: nobody has the port `from`.
        case unreachable
        /// Of a TCP connection.
        case segment
    }

    let kind: Kind
    /// Boxes on the way change both.
    var from: SocketAddress
    var to: SocketAddress
    /// Number of the host that has it next; `nowhere` when none has.
    var target: Int
    var ecn: UInt8 = 0
    var count = 0
    /// Of a packet. Owned by the pool.
    var bytes: UnsafeMutableRawPointer?
    var segment: SimSegment?

    static let nowhere = -1

    /// With the mark of a congested router, if the sender can read it (RFC 3168 §5).
    var marked: Flight {
        var marked = self
        marked.ecn = ecn == 0 ? 0 : 3
        return marked
    }
}

/// Flights ordered by arrival, then by departure. The heap moves 24-byte entries; the flights stay where they are.
struct FlightQueue {
    private struct Entry {
        let time: UInt64
        let sequence: UInt64
        let slot: Int

        func isBefore(_ other: Entry) -> Bool {
            time != other.time ? time < other.time : sequence < other.sequence
        }
    }

    private var heap: [Entry] = []
    private var slots: [Flight] = []
    private var free: [Int] = []
    private var sequence: UInt64 = 0

    var nextTime: UInt64? { heap.first?.time }

    mutating func push(_ flight: Flight, at time: UInt64) {
        let slot = free.popLast() ?? slots.count
        if slot == slots.count { slots.append(flight) } else { slots[slot] = flight }
        heap.append(Entry(time: time, sequence: sequence, slot: slot))
        sequence += 1
        siftUp()
    }

    mutating func pop(dueAt now: UInt64) -> Flight? {
        guard let first = heap.first, first.time <= now else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty { siftDown(last) }
        free.append(first.slot)
        let flight = slots[first.slot]
        if flight.segment != nil { slots[first.slot].segment = nil }
        return flight
    }

    private mutating func siftUp() {
        var position = heap.count - 1
        let entry = heap[position]
        while position > 0, entry.isBefore(heap[(position - 1) / 2]) {
            heap[position] = heap[(position - 1) / 2]
            position = (position - 1) / 2
        }
        heap[position] = entry
    }

    private mutating func siftDown(_ entry: Entry) {
        var position = 0
        while true {
            var child = 2 * position + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].isBefore(heap[child]) { child += 1 }
            guard heap[child].isBefore(entry) else { break }
            heap[position] = heap[child]
            position = child
        }
        heap[position] = entry
    }
}

/// Memory of packets in flight, reused.
struct PacketPool {
    /// Any packet that passes an Ethernet link; larger ones (loopback, tests of giants) take a large buffer.
    private static let smallBytes = 2_048
    private static let largeBytes = 65_536

    private var small: [UnsafeMutableRawPointer] = []
    private var large: [UnsafeMutableRawPointer] = []

    mutating func take(_ count: Int) -> UnsafeMutableRawPointer {
        if count <= Self.smallBytes {
            small.popLast() ?? .allocate(byteCount: Self.smallBytes, alignment: 16)
        } else {
            large.popLast() ?? .allocate(byteCount: Self.largeBytes, alignment: 16)
        }
    }

    mutating func give(_ bytes: UnsafeMutableRawPointer?, _ count: Int) {
        guard let bytes else { return }
        if count <= Self.smallBytes { small.append(bytes) } else { large.append(bytes) }
    }

    mutating func deallocate() {
        for bytes in small + large { bytes.deallocate() }
        small = []
        large = []
    }
}
