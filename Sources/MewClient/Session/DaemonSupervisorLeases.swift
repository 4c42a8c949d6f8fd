internal import MewBase
public import MewWire

// Leases: one device keeps the others from typing in a session while it does so itself (spec/native-wire.md §2). The daemon says
// who holds it, in `AttachedSession.lease`; it ends by release, by take-over, or 30 s after the holder's last channel.

extension DaemonSupervisor {
    /// What a daemon offers that knows leases.
    static let leaseCapability = "lease"

    /// Lets only this device type in the session; again when it does so already.
    ///
    /// - Throws: `lease_held` with the name of who holds it; `unknown_type` at a daemon that knows no leases.
    public func takeLease(of session: SessionID) async throws(ClientError) {
        try await lease(session, .takeIfFree)
    }

    /// The same, whoever holds it: that device is told. Only because a person says so, never by itself.
    public func takeOver(_ session: SessionID) async throws(ClientError) {
        try await lease(session, .takeOver)
    }

    /// Lets others type again; nothing when nobody holds it.
    ///
    /// - Throws: `lease_held` when another device holds it.
    public func releaseLease(of session: SessionID) async throws(ClientError) {
        try await lease(session, .release)
    }

    /// Who may type in an attached session, as soon as it is known: the daemon says it right behind `caught_up`.
    public func lease(of session: SessionID) async -> InputLease {
        guard knowsLeases, view.attached[session]?.lease == .unknown else {
            return view.attached[session]?.lease ?? .unknown
        }
        let events = subscribe()
        _ = await within(deadlines.reply, on: environment.clock) {
            for await event in events where event.isLease(of: session) { return }
        }
        events.finish()
        return view.attached[session]?.lease ?? .unknown
    }

    private var knowsLeases: Bool { connection?.ready.capabilities.contains(Self.leaseCapability) == true }

    /// On control, so that a session need not be attached.
    private func lease(_ session: SessionID, _ act: LeaseAct) async throws(ClientError) {
        guard connection != nil else { throw notReady }
        guard knowsLeases else {
            throw ClientError(.unknownType, "this daemon does not know who is typing: everybody may")
        }
        try await change(.lease(ClientMessage.Lease(kind: .input, target: session.text, act: act)))
    }
}

extension ClientEvent {
    fileprivate func isLease(of session: SessionID) -> Bool {
        guard case .session(let event) = self else { return false }
        return event.session == session && event.frame.message.kind == .leaseState
    }
}
