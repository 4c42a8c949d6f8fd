internal import MewBase
internal import MewQUICCore

/// First packets of iroh diallers that came through a relay and wait a moment for their copies on a direct path
/// (spec/iroh-wire.md §3.4). A value.
///
/// Such a dialler sends its first flight every way it knows and stays for ever on the way by which the first answer came. A
/// relay is often a little faster than the direct path of a first packet, and far slower afterwards.
struct HeldInitials {
    private struct Held {
        let initial: PendingInitial
        let destination: ForeignConnectionID
        let until: Instant
    }

    private var held: [Held] = []

    /// Measured: direct paths slower than the relay by 30 ms each way win with it; more would be felt.
    static let time: Duration = .milliseconds(100)
    /// Beyond it nothing is held: packets are answered at once, through the relay.
    static let maxCount = 64
    /// Iroh's first choice of our connection ID; diallers of ours have a shorter one and migrate by themselves (DESIGN §6).
    static let destinationBytes = 20

    /// When the next one has waited long enough.
    var deadline: Instant? { held.first?.until }

    /// - Returns: false when the packet is not one to wait for.
    mutating func hold(_ initial: PendingInitial, for destination: ForeignConnectionID, now: Instant) -> Bool {
        guard case .carried = initial.arrival.route, !initial.wasHeld, held.count < Self.maxCount,
            destination.byteCount == Self.destinationBytes
        else { return false }
        var initial = initial
        initial.wasHeld = true
        held.append(Held(initial: initial, destination: destination, until: now.advanced(by: Self.time)))
        return true
    }

    /// The same dialler has come by a direct path: it is answered there.
    mutating func drop(_ destination: ForeignConnectionID) {
        held.removeAll { $0.destination == destination }
    }

    mutating func takeDue(now: Instant) -> [PendingInitial] {
        let due = held.prefix { $0.until <= now }
        held.removeFirst(due.count)
        return due.map(\.initial)
    }
}
