internal import MewBase

/// Answers of a peer's machine that nobody listens at its port (ICMP), since the peer was heard last. Anybody on the way can say so
/// (RFC 9000 §21.1), so that one of them proves nothing; but every packet that they answer asks for an acknowledgement, and who is
/// there gives it.
///
/// A process that was killed says no goodbye: without this its end is known after the idle time-out only.
struct Refusals: Equatable {
    private var count = 0
    private var first = Instant.zero
    private var lastProof = Instant.zero

    private static let fewest = 3
    /// Longer than a firewall needs to read new rules.
    private static let shortest: Duration = .seconds(2)

    mutating func add(lastProof: Instant, now: Instant) {
        if lastProof != self.lastProof { self = Refusals(first: now, lastProof: lastProof) }
        count += 1
    }

    func areBelieved(now: Instant) -> Bool {
        count >= Self.fewest && first.duration(to: now) >= Self.shortest
    }

    init() {}

    private init(first: Instant, lastProof: Instant) {
        (self.first, self.lastProof) = (first, lastProof)
    }
}
