internal import MewBase
internal import MewIdentity
internal import MewWire

/// Everything a client knows about one daemon, and the one place where that changes.
///
/// Pure value: no link, store, clock or randomness. Feed it with `apply` in the order things happen, and perform every effect it
/// returns, in order. `DaemonSupervisor` does that; apps see `view`.
struct DaemonState: Sendable {
    var view: DaemonView
    /// The connection the daemon accepted; nil without one. `view.phase` follows when the readers were told.
    private(set) var link: ReadyLink?
    /// Sessions that have a channel now; at a stock daemon at most one.
    private(set) var bound: Set<SessionID> = []
    var ended = EndedOperations()
    var own = OwnOperations()
    var settlingQueries = SettlingQueries()
    /// The change of the drafts after which they were as they are shown.
    var draftsAsOf: DraftRevision?
    private var shownAlerts = AlertMemory()

    /// - Parameters:
    ///   - app: name and version of this program.
    ///   - device: the node ID of this device.
    init(record: DaemonRecord, app: String, device: NodeID? = nil) {
        view = DaemonView(record: record, app: app, device: device)
    }

    /// Natively until a link says otherwise: then nothing can be sent anyway.
    var isNative: Bool { link?.isNative ?? true }

    mutating func apply(_ input: ClientInput, at now: WallTime) -> [ClientEffect] {
        switch input {
        case .phase(let phase): return enter(phase)
        case .greeted(let message):
            view.apply(message)
            return []
        case .linkReady(let link, let path): return ready(link, path, at: now)
        case .linkLost(let reason, let proof): return linkLost(reason, proof)
        case .control(let frame): return control(frame, at: now)
        case .skipped:
            view.skippedMessages += 1
            return []

        case .opening(let id):
            if view.attached[id] == nil { view.attached[id] = AttachedSession(id: id, device: view.device) }
            return []
        case .bound(let id):
            if view.attached[id] == nil { view.attached[id] = AttachedSession(id: id, device: view.device) }
            bound.insert(id)
            return []
        case .session(let frame, let id): return session(frame, id, at: now)
        case .startedOnStock(let id): return change(id) { $0.startedOnStock() }
        case .gone(let id): return change(id) { $0.sessionGone() }
        case .notOpened(let id):
            // What an earlier attach showed stays.
            if !bound.contains(id), view.attached[id]?.details == nil { view.attached[id] = nil }
            return []
        case .attaching(let id): return change(id) { $0.attachingAgain() }
        case .channelLost(let id, let reason): return channelLost(id, reason)
        case .channelEnded(let id): return channelEnded(id)
        case .left(let id): return left(id)
        case .drained(let id): return queriesOfUnknown(in: id)
        case .pageAsked(let id, let before, let ref):
            view.attached[id]?.pageAsked(before: before, ref: ref)
            return []

        case .begun(let operation, let intent): return begun(operation, intent)
        case .sentAgain(let id, let instance): return advance(id) { $0.sentAgain(by: instance) }
        case .notSent(let id, let error): return advance(id) { $0.failed(error) }
        case .unreceipted(let id): return advance(id) { $0.state = .settled(nil) }
        case .answered(let receipt, let isSettled):
            return advance(receipt.operation) { $0.received(receipt, isSettled: isSettled) }
        case .found(let operations): return operations.flatMap { found($0) }
        case .askAgain: return queries()
        case .drafts(let drafts, let change):
            show(drafts, asOf: change)
            return []
        }
    }

    // MARK: - The connection

    private mutating func enter(_ phase: LinkPhase) -> [ClientEffect] {
        guard view.phase != phase else { return [] }
        view.phase = phase
        // A daemon that saves nothing says so to whoever comes; what an earlier connection heard may be over.
        if phase == .greeting { view.assumeSaving() }
        return [.publish(.phase(phase))]
    }

    private mutating func ready(_ ready: ReadyLink, _ path: LinkPath, at now: WallTime) -> [ClientEffect] {
        link = ready
        shownAlerts.begin()
        var former = view.record
        view.isInTwoPlaces = ready.bootID.map { former.answered(from: $0) } ?? false
        var effects = remember(.ready(boot: ready.bootID, scope: ready.scope, path, at: now))
        effects += enter(.ready(ready))
        // After a reconnect: every session that was attached, each from the event it has.
        for id in view.attached.keys.sorted(by: { $0.text < $1.text }) where view.attached[id]?.phase != .gone {
            effects += attachAgain(id)
        }
        // What changed while there was no link, nobody told. Until the answer the last list stays.
        if view.sessions != nil { effects.append(.listSessions) }
        return effects
    }

    mutating func remember(_ news: RecordNews) -> [ClientEffect] {
        news.apply(to: &view.record)
        return [.remember(news)]
    }

    private mutating func linkLost(_ reason: ClientError, _ proof: WallTime?) -> [ClientEffect] {
        var effects: [ClientEffect] = []
        // Also those that were being attached: nobody attaches them before the link is back.
        for id in view.attached.keys.sorted(by: { $0.text < $1.text }) { effects += channelLost(id, reason) }
        if !isNative { effects += settleDelivered(in: nil) }
        for id in view.operations.keys.sorted() { effects += advance(id) { $0.channelLost() } }
        link = nil
        return effects + remember(.proof([proof, view.record.lastProof].compactMap(\.self).max()))
    }

    private mutating func control(_ frame: DaemonFrame, at now: WallTime) -> [ClientEffect] {
        proved(by: frame, at: now)
        let wasSaving = view.isSaving
        view.apply(frame.message)
        var effects: [ClientEffect] = [.handOver(frame)]
        switch frame.message {
        case .pong:
            effects += [.succeeded] + remember(.version(view.record.version))
        case .reach(let reach):
            effects += learned(reach)
        case .receipt(let receipt):
            effects += received(receipt, ref: frame.ref)
        case .sessionAlert(let alert):
            guard shownAlerts.isNew(alert, now: now) else { return effects }
        case .error(let error):
            effects += refused(error)
        case .revoked(let revoked):
            effects.append(.revoked(revoked))
        case .daemonState where !wasSaving && view.isSaving:
            // Without a disk nothing could be settled, and what waited for it has an end now.
            effects += queries()
        default:
            break
        }
        return effects + [.publish(.control(frame))]
    }

    /// Whatever it says, it is there; and what has a time tells how far its clock is from ours.
    private mutating func proved(by frame: DaemonFrame, at now: WallTime) {
        view.record.lastProof = now
        switch frame.message {
        case .receipt(let receipt): shownAlerts.heard(sentAt: receipt.at, now: now)
        case .sessionAlert(let alert): if let at = alert.at { shownAlerts.heard(sentAt: at, now: now) }
        default: break
        }
    }

    private mutating func learned(_ reach: DaemonMessage.Reach) -> [ClientEffect] {
        if reach.isElsewhere == true { view.isInTwoPlaces = true }
        let isNews = reach.counter >= view.record.reachCounter ?? 0
        let effects = remember(.reach(reach))
        return isNews ? effects + [.pass(addresses: reach.usableAddresses, relays: reach.relays)] : effects
    }

    // MARK: - Sessions

    /// Changes an attached session and translates what it wants.
    private mutating func change(
        _ id: SessionID, isOwn: Bool = false, _ change: (inout AttachedSession) -> [AttachedSession.Effect]
    ) -> [ClientEffect] {
        let wanted = view.attached[id]?.changed(by: change) ?? []
        return wanted.flatMap { translate($0, of: id, isOwn: isOwn) }
    }

    private mutating func translate(
        _ effect: AttachedSession.Effect, of id: SessionID, isOwn: Bool
    ) -> [ClientEffect] {
        switch effect {
        case .accept(let frame):
            let isLive = view.attached[id]?.phase == .live
            return [
                .publish(.session(SessionEvent(session: id, frame: frame, isLive: isLive, isOwnEcho: isOwn)))
            ]
        case .phaseChanged(.live):
            // What a gap swallowed may be receipts, too: they have no number that would show it. And the daemon may have told them
            // on a channel that it did not know to be dead.
            return [.publish(.sessionPhase(id, .live))] + queriesOfKnown(in: id)
        case .phaseChanged(let phase): return [.publish(.sessionPhase(id, phase))]
        case .resume(let sequence): return [.resume(id, after: sequence)]
        case .turnEnded: return turnEnded(in: id)
        }
    }

    private mutating func session(_ frame: DaemonFrame, _ id: SessionID, at now: WallTime) -> [ClientEffect] {
        proved(by: frame, at: now)
        let isNative = isNative
        let isOwn = isOwnEcho(frame, id)
        var effects = isOwn && !isNative ? echoed(in: id) : []
        let wanted = change(id, isOwn: isOwn) { $0.receive(frame, isNative: isNative, now: now) }
        effects.append(.handOver(frame))
        if isNative {
            switch frame.message {
            case .receipt(let receipt): effects += received(receipt, ref: frame.ref)
            case .error(let error): effects += refused(error)
            default: break
            }
        }
        return effects + wanted
    }

    private mutating func isOwnEcho(_ frame: DaemonFrame, _ id: SessionID) -> Bool {
        guard case .userMessage(let message) = frame.message else { return false }
        guard isNative else { return view.attached[id]?.isEcho(message.text) ?? false }
        return message.operation.map { own.contains($0) } ?? false
    }

    private mutating func attachAgain(_ id: SessionID) -> [ClientEffect] {
        change(id) { $0.attachingAgain() } + [.reattach(id)]
    }

    private mutating func channelLost(_ id: SessionID, _ reason: ClientError) -> [ClientEffect] {
        bound.remove(id)
        return loseSending(in: id) + change(id) { $0.channelLost(reason) }
    }

    /// The session is gone, or the daemon only lost patience. Asking tells.
    private mutating func channelEnded(_ id: SessionID) -> [ClientEffect] {
        let reason = ClientError(.unreachable, "the daemon ended the channel of the session")
        let effects = channelLost(id, reason) + queries()
        guard view.attached[id]?.mayReattach() == true else { return effects }
        return effects + attachAgain(id)
    }

    private mutating func left(_ id: SessionID) -> [ClientEffect] {
        bound.remove(id)
        view.attached[id] = nil
        // What was sent last may be in the channel still: it is not to be killed.
        return loseSending(in: id) + queries(of: id, settlesUnknown: false)
    }
}

extension AttachedSession {
    /// In place: a transcript is not copied for every frame.
    fileprivate mutating func changed(by change: (inout Self) -> [Effect]) -> [Effect] { change(&self) }
}
