/// A segment of a simulated TCP connection (RFC 9293, without options; sequence numbers do not wrap).
final class SimSegment {
    struct Flags: OptionSet {
        let rawValue: UInt8
        static let synchronize = Flags(rawValue: 1)
        static let acknowledge = Flags(rawValue: 2)
        static let finish = Flags(rawValue: 4)
        static let reset = Flags(rawValue: 8)
    }

    let flags: Flags
    /// Of the first byte; a SYN and a FIN take one number each.
    let sequence: UInt64
    let acknowledged: UInt64
    let window: Int
    let bytes: ArraySlice<UInt8>

    init(_ flags: Flags, sequence: UInt64, acknowledged: UInt64, window: Int, bytes: ArraySlice<UInt8> = []) {
        self.flags = flags
        self.sequence = sequence
        self.acknowledged = acknowledged
        self.window = window
        self.bytes = bytes
    }

    /// Fits a path of 1280 bytes with every header, as a kernel learns from the box in front of a narrow link.
    static let maxBytes = 1_220

    /// Beyond what a UDP packet has as a header.
    static let extraHeaderBytes = 12
}

/// The sending half of a connection: what is not acknowledged yet, what may leave, and when it leaves again. A value.
///
/// Slow start, congestion avoidance, fast retransmit (RFC 5681) and timer (RFC 6298) in their plainest forms.
struct SimSender {
    /// From `acknowledged` on.
    private var bytes: [UInt8] = []
    private(set) var acknowledged: UInt64 = 0
    private(set) var next: UInt64 = 0
    /// Where the FIN stands, once there is nothing more to come.
    private(set) var finish: UInt64?
    private var peerWindow = 64 << 10
    private var window = 10 * SimSegment.maxBytes
    private var threshold = Int.max
    private var repeats = 0
    private var recoverUntil: UInt64?
    private var timed: (end: UInt64, at: UInt64)?
    private var roundTrip: (smoothed: UInt64, deviation: UInt64)?
    /// How often in a row the timer fired.
    private(set) var timeouts = 0

    /// What is waiting to leave for the first time at most (TCP_NOTSENT_LOWAT of the relay's sockets).
    static let unsentBytes = 16 << 10
    static let shortestTimeout: UInt64 = 200_000_000
    static let firstTimeout: UInt64 = 1_000_000_000
    static let longestTimeout: UInt64 = 120_000_000_000

    var end: UInt64 { acknowledged + UInt64(bytes.count) }
    var isEmpty: Bool { bytes.isEmpty }
    var room: Int { finish == nil ? max(0, Self.unsentBytes - Int(end - min(next, end))) : 0 }
    var isFinishAcknowledged: Bool { finish.map { acknowledged > $0 } ?? false }

    /// The SYN's number is 0, the first byte's is 1.
    mutating func opened() {
        (acknowledged, next) = (1, 1)
        timeouts = 0
    }

    mutating func append(_ more: UnsafeRawBufferPointer) { bytes += more }

    mutating func end(at finish: UInt64) { self.finish = finish }

    /// How long to wait for an acknowledgement; nil when nothing is waited for.
    var timeout: UInt64? {
        guard acknowledged < next || !bytes.isEmpty else { return nil }
        return timeoutNow
    }

    var timeoutNow: UInt64 {
        let first = roundTrip.map { max(Self.shortestTimeout, $0.smoothed + 4 * $0.deviation) } ?? Self.firstTimeout
        return min(first << UInt64(min(timeouts, 10)), Self.longestTimeout)
    }

    /// The next piece that may leave: where it stands, its bytes, and whether the FIN goes with it.
    mutating func take(now: UInt64) -> (sequence: UInt64, bytes: ArraySlice<UInt8>, isLast: Bool)? {
        let inFlight = Int(next - acknowledged)
        let room = min(window, max(peerWindow, timeouts > 0 ? 1 : 0)) - inFlight
        let start = next
        if next < end {
            guard room > 0 else { return nil }
            let count = min(SimSegment.maxBytes, Int(end - next), room)
            next += UInt64(count)
            if timed == nil, timeouts == 0 { timed = (next, now) }
            let offset = Int(start - acknowledged)
            let isLast = finish == next
            if isLast { next += 1 }
            return (start, bytes[offset..<(offset + count)], isLast)
        }
        guard let finish, finish == next else { return nil }
        next += 1
        return (start, [], true)
    }

    /// The first piece again.
    func first() -> (sequence: UInt64, bytes: ArraySlice<UInt8>, isLast: Bool) {
        let count = min(SimSegment.maxBytes, bytes.count)
        return (acknowledged, bytes[..<count], finish == acknowledged + UInt64(count))
    }

    /// True when the first piece is to be sent again at once.
    mutating func receive(_ segment: SimSegment, now: UInt64) -> Bool {
        let highest = max(next, finish.map { $0 + 1 } ?? end)
        guard segment.acknowledged <= highest else { return false }
        peerWindow = segment.window
        guard segment.acknowledged > acknowledged else { return noteRepeat(segment) }
        repeats = 0
        timeouts = 0
        measure(segment.acknowledged, now: now)
        let count = min(bytes.count, Int(segment.acknowledged - acknowledged))
        bytes.removeFirst(count)
        acknowledged = segment.acknowledged
        next = max(next, acknowledged)
        if let until = recoverUntil, acknowledged < until { return true }
        recoverUntil = nil
        window += window < threshold ? count : SimSegment.maxBytes * count / max(1, window)
        return false
    }

    private mutating func noteRepeat(_ segment: SimSegment) -> Bool {
        guard segment.acknowledged == acknowledged, next > acknowledged, segment.bytes.isEmpty, recoverUntil == nil
        else {
            return false
        }
        repeats += 1
        guard repeats == 3 else { return false }
        threshold = max(Int(next - acknowledged) / 2, 2 * SimSegment.maxBytes)
        window = threshold
        recoverUntil = next
        timed = nil
        return true
    }

    private mutating func measure(_ acknowledged: UInt64, now: UInt64) {
        guard let timed, acknowledged >= timed.end else { return }
        self.timed = nil
        let sample = now - timed.at
        guard let old = roundTrip else {
            roundTrip = (sample, sample / 2)
            return
        }
        let distance = old.smoothed > sample ? old.smoothed - sample : sample - old.smoothed
        roundTrip = ((7 * old.smoothed + sample) / 8, (3 * old.deviation + distance) / 4)
    }

    /// No acknowledgement in time: all goes again from the first byte on, slowly.
    mutating func timedOut() {
        timeouts += 1
        threshold = max(Int(next - acknowledged) / 2, 2 * SimSegment.maxBytes)
        window = SimSegment.maxBytes
        (next, timed, repeats, recoverUntil) = (acknowledged, nil, 0, nil)
    }
}

/// The receiving half of a connection. A value.
struct SimReceiver {
    private(set) var bytes: [UInt8] = []
    /// The number that is expected next.
    private(set) var next: UInt64 = 0
    private var early: [UInt64: ArraySlice<UInt8>] = [:]
    private var finish: UInt64?

    static let capacity = 256 << 10

    var window: Int { max(0, Self.capacity - bytes.count) }
    /// All that the peer sends has come.
    var isFinished: Bool { finish.map { next > $0 } ?? false }

    mutating func opened() { next = 1 }

    /// False when nothing of it was of use.
    mutating func receive(_ segment: SimSegment) {
        let end = segment.sequence + UInt64(segment.bytes.count)
        if segment.flags.contains(.finish) { finish = end }
        if end <= next + UInt64(window), !segment.bytes.isEmpty, end > next { early[segment.sequence] = segment.bytes }
        while let (start, piece) = early.first(where: { $0.key <= next }) {
            early[start] = nil
            let known = Int(next - start)
            guard known < piece.count else { continue }
            bytes += piece.dropFirst(known)
            next += UInt64(piece.count - known)
        }
        if finish == next { next += 1 }
    }

    mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        let taken = bytes.prefix(count)
        bytes.removeFirst(taken.count)
        return taken
    }
}
