/// Where the connection to one daemon stands.
///
///     idle ─run─▶ dialing ─link─▶ greeting ─remote_ready─▶ ready
///                    ▲               │  └─pair_pending─▶ pairing ─remote_ready─▶ ready
///                    │               ▼                                            │
///                    └─time is up─ waiting ◀──────── trouble ─────────────────────┤
///                    └─retry()──── parked  ◀──────── refusal ─────────────────────┘
public enum LinkPhase: Sendable, Hashable {
    /// Nobody runs it.
    case idle
    /// `failures` dials in a row went wrong before this one.
    case dialing(failures: Int)
    case greeting
    /// A person at the daemon has to confirm this device; both screens show the same six digits.
    case pairing(digits: String, expiresInSeconds: UInt64)
    case ready(ReadyLink)
    /// It dials again after the wait; in the background not before the app is in front again.
    case waiting(Duration, ConnectionTrouble)
    /// It does not dial until somebody says `retry()`.
    case parked(ConnectionRefusal)

    public var readyLink: ReadyLink? { if case .ready(let link) = self { link } else { nil } }
}
