public import MewBase
import MewIdentity
import MewWire

// Who may type (spec/native-wire.md §2, `lease`). Kept in memory, so that a restart frees it; receipts of it are stored as others.

extension SessionCore {
    /// The optional capability of a client that knows leases.
    public static let leaseCapability = "lease"

    /// When a `deadline` is due.
    public var nextDeadline: Instant? { lease.nextDeadline }

    /// Words and commands of others are refused while somebody holds the lease. True when this one was.
    mutating func refuseTyping(_ request: ClientRequest, _ moment: Moment) -> Bool {
        expireLease(moment)
        guard Self.typed.contains(request.message.kind), let holder = lease.refuses(request.by.node) else {
            return false
        }
        refuse(request, .leaseHeld, Self.typing(holder), moment)
        return true
    }

    private static let typed: Set<ClientMessage.Kind> = [.prompt, .guide, .slashCommand]

    private static func typing(_ holder: By) -> String { "\(holder.name) is typing" }

    mutating func take(_ asked: ClientMessage.Lease, _ request: ClientRequest, _ moment: Moment) {
        guard asked.kind == .input else {
            return refuse(request, .unknownType, "this daemon has no terminals to size", moment)
        }
        expireLease(moment)
        let verdict: LeaseDesk.Verdict
        switch asked.act {
        case .takeIfFree: verdict = take(request, takesOver: false, moment)
        case .takeOver: verdict = take(request, takesOver: true, moment)
        case .release: verdict = lease.release(request.by.node)
        }
        switch verdict {
        case .changed: tellLease()
        case .unchanged: break
        case .refused(let holder): return refuse(request, .leaseHeld, Self.typing(holder), moment)
        }
        receive(request, .done, moment)
    }

    private mutating func take(_ request: ClientRequest, takesOver: Bool, _ moment: Moment) -> LeaseDesk.Verdict {
        lease.take(request.by, isPresent: isPresent(request.by.node), takesOver: takesOver, now: moment.now)
    }

    private func isPresent(_ node: NodeID) -> Bool { clients.contains { $0.by.node == node } }

    /// What stock clients have instead of a release.
    mutating func yieldLease(_ node: NodeID) {
        if lease.release(node) == .changed { tellLease() }
    }

    mutating func noteLeaving(_ node: NodeID, _ moment: Moment) {
        if !isPresent(node) { lease.left(node, now: moment.now) }
    }

    mutating func expireLease(_ moment: Moment) {
        if lease.expire(now: moment.now) { tellLease() }
    }

    // MARK: - Telling

    private mutating func tellLease() {
        for client in clients { tellLease(to: client) }
        step.effects.append(.listingChanged)
    }

    /// To a client that has said that it knows leases.
    mutating func tellLease(to client: AttachedClient) {
        guard client.link == .native, client.capabilities.contains(Self.leaseCapability) else { return }
        let state = DaemonMessage.LeaseState(kind: .input, target: id.text, holder: lease.holder)
        step.effects.append(.send(SessionMessage(.leaseState(state)), to: .client(client.id)))
    }
}
