package import MewBase

/// A STUN server for everybody, on two ports of each address (RFC 8489 §12, RFC 5780 with one address): what it says to which
/// packet, and how much of that. A value; whoever has the sockets sends what it says.
///
/// Sources can be forged, and an answer is up to 72 bytes longer than its request: so the answers have budgets.
package struct StunService: Sendable {
    /// How a packet came.
    package struct Arrival: Hashable, Sendable {
        package let from: SocketAddress
        /// The address and port it was sent to.
        package let to: SocketAddress
        /// The port at which the server answers as well, at the same address; nil when there is none.
        package let otherPort: UInt16?

        package init(from: SocketAddress, to: SocketAddress, otherPort: UInt16?) {
            (self.from, self.to, self.otherPort) = (from, to, otherPort)
        }
    }

    package enum Outcome: Hashable, Sendable {
        /// To be sent back, from `Arrival.to` or from the other port of the same address.
        case answer([UInt8], fromOtherPort: Bool)
        /// The same, with an error.
        case refuse([UInt8])
        /// A budget is used up.
        case overBudget
        /// No request.
        case noise
    }

    package struct Limits: Sendable {
        /// Answers to one IPv4 /24 or IPv6 /56: a survey asks one relay at most nine times, and a carrier puts some thousand
        /// households behind such a network, a few of which begin at the same moment.
        package var perSourceBurst = 256
        package var perSourcePerSecond = 64
        /// Answers in all: 400 kB a second, which is what forged sources can make us send to whomever they mean.
        package var burst = 4_096
        package var perSecond = 4_096
        /// Sources that are remembered, each until it would have its whole burst again.
        package var sources = 4_096
        /// Between two looks at which may be forgotten, when they are that many.
        package var forgetting: Duration = .milliseconds(100)

        package init() {}
    }

    private let limits: Limits
    private var inAll: RateLimit
    private var sources: [SourceNetwork: RateLimit] = [:]
    private var forgot: Instant?

    package init(_ limits: Limits = Limits()) {
        self.limits = limits
        inAll = RateLimit(burst: limits.burst, perSecond: limits.perSecond)
    }

    package var sourceCount: Int { sources.count }

    package mutating func hear(_ bytes: [UInt8], _ arrival: Arrival, now: Instant) -> Outcome {
        guard let reading = StunRequest.read(bytes), arrival.from.port != 0 else { return .noise }
        // The source first, so that one of them cannot use up what is for all.
        guard takeForSource(arrival.from, now), inAll.take(now: now) else { return .overBudget }
        switch reading {
        case .request(let request): return answer(request, arrival)
        case .unknown(let transaction, let attributes): return Self.refuse(transaction, attributes)
        case .malformed(let transaction):
            return .refuse(StunReply(transaction: transaction, content: .failure(code: 400, unknown: [])).encoded)
        }
    }

    private func answer(_ request: StunRequest, _ arrival: Arrival) -> Outcome {
        let there = arrival.otherPort.map { arrival.to.with(port: $0) }
        switch (request.origin, there) {
        case (.same, _): return Self.success(request, arrival, from: arrival.to, other: there, fromOtherPort: false)
        case (.otherPort, let there?):
            return Self.success(request, arrival, from: there, other: there, fromOtherPort: true)
        // RFC 5780 §6.1: who has no other address, or no other port, does not support the attribute.
        case (.otherPort, nil), (.otherAddress, _):
            return Self.refuse(request.transaction, [StunAttribute.changeRequest])
        }
    }

    private static func success(
        _ request: StunRequest, _ arrival: Arrival, from origin: SocketAddress, other: SocketAddress?,
        fromOtherPort: Bool
    ) -> Outcome {
        let seen = StunReply.Seen(mapped: arrival.from, origin: origin, other: other)
        let reply = StunReply(transaction: request.transaction, content: .success(seen))
        return .answer(reply.encoded, fromOtherPort: fromOtherPort)
    }

    private static func refuse(_ transaction: TransactionID, _ attributes: [UInt16]) -> Outcome {
        .refuse(StunReply(transaction: transaction, content: .failure(code: 420, unknown: attributes)).encoded)
    }

    // MARK: - Budgets

    private mutating func takeForSource(_ address: SocketAddress, _ now: Instant) -> Bool {
        let source = SourceNetwork(address)
        if sources[source] == nil {
            if sources.count >= limits.sources { forget(now) }
            guard sources.count < limits.sources else { return false }
        }
        let fresh = RateLimit(burst: limits.perSourceBurst, perSecond: limits.perSourcePerSecond)
        return sources[source, default: fresh].take(now: now)
    }

    /// Those that have their whole burst again: to remember them makes no difference.
    private mutating func forget(_ now: Instant) {
        if let forgot, forgot.duration(to: now) < limits.forgetting { return }
        forgot = now
        sources = sources.filter { !$0.value.isFull(now: now) }
    }
}
