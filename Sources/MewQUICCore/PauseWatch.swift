internal import CQuic
internal import MewBase

/// When a peer that was talking and has paused is asked whether it is still there. A value.
///
///     quiet ──it says something──▶ 1 s without a packet: asked ──▶ 2 s: asked ──▶ 4 s: asked ──▶ quiet: the usual keep-alive
///                                   ▲                                  │
///                                   └──────────it says something───────┘
///
/// Who only listens has nothing under way, and does not notice that it is not reached any more: a NAT has forgotten it, or has another
/// address. Nobody else can tell it either. The question brings it back, long before the next keep-alive; it costs three small
/// packets for each pause, while the radio of a phone is awake from what came before.
struct PauseWatch {
    private let first: Duration
    private let usual: Duration
    private var pause: Duration
    /// When the peer said something, or was asked.
    private var last = Instant.zero

    init(first: Duration, usual: Duration) {
        (self.first, self.usual) = (first, usual)
        pause = usual
    }

    /// - Returns: how long to wait from now on; nil when that has not changed.
    mutating func peerSaid(at now: Instant) -> Duration? {
        last = now
        return wait(first)
    }

    /// A packet of ours has left: the question, when it was due, or something as good.
    ///
    /// - Returns: how long to wait from now on; nil when that has not changed.
    mutating func sent(at now: Instant) -> Duration? {
        guard pause < usual, last.duration(to: now) >= pause else { return nil }
        last = now
        return wait(min(pause * 2, usual))
    }

    /// It is to be asked as soon as there is room in the window.
    ///
    /// - Returns: how long to wait from now on.
    mutating func ask() -> Duration {
        (last, pause) = (.zero, first)
        return .nanoseconds(1)
    }

    private mutating func wait(_ time: Duration) -> Duration? {
        guard time != pause else { return nil }
        pause = time
        return time
    }
}

extension ConnectionCore {
    /// Bytes of a stream or a datagram have come.
    func peerSaid() { keepAlive(after: pauses.peerSaid(at: now)) }

    /// A burst has left.
    func askedAfterPause() { keepAlive(after: pauses.sent(at: now)) }

    func askSoon() { keepAlive(after: pauses.ask()) }

    private func keepAlive(after time: Duration?) {
        if let time { ngtcp2_conn_set_keep_alive_timeout(connection, time.libraryDuration) }
    }
}
