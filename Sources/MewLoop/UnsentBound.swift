internal import CSys
internal import MewBase

/// How much of what was written to a TCP socket may wait in the kernel unsent: nothing that is written later, a pong for
/// instance, can overtake it.
///
/// TCP_NOTSENT_LOWAT does not bound it: a segment that waits is filled up to 64 KiB all the same, which is half a second on a
/// line of 1 Mbit/s. So the kernel is asked before a write, unless the line is fast enough for it not to matter.
struct UnsentBound {
    /// What may wait: 20 ms of the line.
    private static let partsPerSecond: Int64 = 50
    /// Two full packets and more: the line must not run dry before we are woken.
    static let least = 4 << 10
    /// A segment at its largest: from here on there is nothing to bound.
    static let most = 64 << 10
    /// The rate is asked for at most this often.
    private static let pause: Duration = .milliseconds(20)

    private(set) var bytes = Int(CSYS_TCP_UNSENT)
    private var measured: Instant?

    /// How much may be written now.
    func room(_ descriptor: Int32) -> Int {
        guard bytes < Self.most else { return .max }
        let unsent = csys_tcp_unsent(descriptor)
        // Not a TCP socket: nobody's pong waits there.
        guard unsent >= 0 else { return .max }
        return max(0, bytes - Int(unsent))
    }

    /// The kernel took less than it was offered, or would have to hold more than it should: the line decides how much that is.
    mutating func reached(_ descriptor: Int32, now: Instant) {
        if let measured, measured.duration(to: now) < Self.pause { return }
        measured = now
        let rate = csys_tcp_delivery_rate(descriptor)
        guard rate > 0, let wanted = change(atRate: rate) else { return }
        if csys_tcp_wake_below(descriptor, Int32(wanted)) == 0 { bytes = wanted }
    }

    /// The bound on a line of `rate` bytes per second, if it is another one. It falls at once and rises by doubling: the first
    /// packets often say more of the memory on the way than of the line.
    func change(atRate rate: Int64) -> Int? {
        let inTime = Int(clamping: rate / Self.partsPerSecond)
        let wanted = min(max(inTime, Self.least), Self.most, 2 * bytes)
        return wanted == bytes ? nil : wanted
    }
}
