public import MewWire

// Who hears the session, and what they get first (spec/mew-wire.md §4.3, spec/native-wire.md §2).
//
//     native:  session_ready, thinking_variant_changed, replay, or page and part_start of an open part, open requests, what else
//              changed, caught_up, presence
//              After a replay no open part is started again: it started in an event that the client has or is given.
//     stock:   session_ready, title (phones), thinking_variant_changed, history, open part, open requests, flagged files, presence

extension SessionCore {
    /// What a client that attaches is given.
    private enum First {
        case nothing
        case replay([[UInt8]], after: SequenceNumber)
        case snapshot

        /// What the client has already.
        var start: SequenceNumber {
            switch self {
            case .replay(_, let after): after
            // The numbers it has are of another epoch, or too old to go on from.
            case .nothing, .snapshot: .zero
            }
        }
    }

    mutating func attach(_ client: AttachedClient, after: SequenceNumber?, epoch: Epoch?, isNew: Bool) {
        clients.removeAll { $0.id == client.id }
        let others = clients
        lastClientNumber += 1
        clientNumbers[client.id] = ClientNumber(lastClientNumber)
        clients.append(client)
        let first = isNew ? First.nothing : first(after: after, epoch: epoch)
        step.effects.append(.admit(client.id, after: first.start))
        stream(.sessionReady(ready(for: client, first, after: after)), to: client)
        give(first, to: client)
        announce(client, among: others)
        lease.arrived(client.by.node)
        tellLease(to: client)
        step.effects.append(.listingChanged)
    }

    private func first(after: SequenceNumber?, epoch: Epoch?) -> First {
        if let after, let events = journal.replay(after: after, epoch: epoch) { return .replay(events, after: after) }
        return .snapshot
    }

    private func ready(
        for client: AttachedClient, _ first: First, after: SequenceNumber?
    ) -> DaemonMessage.SessionReady {
        let resume: ResumeKind
        switch first {
        case .nothing: resume = .new
        case .replay: resume = .replay
        case .snapshot: resume = .snapshot
        }
        let lost = max(lostEvents, after.map { $0 > journal.head ? $0.rawValue - journal.head.rawValue : 0 } ?? 0)
        return DaemonMessage.SessionReady(
            sessionID: id, cwd: record.cwd, model: record.model?.model, provider: record.model?.provider,
            permissionMode: record.mode.rawValue, epoch: journal.epoch, headSequence: journal.head, resume: resume,
            lost: lost == 0 ? nil : lost, agent: record.agent)
    }

    /// Everything between `session_ready` and the live stream.
    private mutating func give(_ first: First, to client: AttachedClient) {
        if client.isStockPhone { stream(.sessionTitleChanged(shownTitle), to: client) }
        stream(.thinkingVariantChanged(.init(variant: record.thinkingVariant)), to: client)
        switch first {
        case .nothing: break
        case .replay(let events, let after):
            step.effects.append(.replay(events, from: after.next, to: client.id))
        case .snapshot: giveSnapshot(to: client)
        }
        giveOpenRequests(to: client)
        if case .snapshot = first { giveLists(to: client) }
        stream(.caughtUp(.init(sessionID: id, sequence: journal.head)), to: client, upTo: journal.head)
    }

    private mutating func giveSnapshot(to client: AttachedClient) {
        let (key, page) = firstScreen(client.isStockPhone ? .phone : .page)
        if client.isStockPhone {
            stream(.sessionHistory(.init(messages: page.messages)), to: client, screen: key)
        } else {
            // Only `caught_up` says that the client has everything: what follows the page may still be dropped.
            stream(.sessionHistoryPage(replacing(page)), to: client, screen: key)
        }
        if let part = start(of: page.openPart) { stream(part, to: client) }
    }

    private func start(of openPart: Part?) -> DaemonMessage? {
        openPart.map { .provider(.init(event: .partStart($0))) }
    }

    private mutating func firstScreen(_ limits: FirstScreen.Limits) -> (ScreenKey, Transcript.Page) {
        let key = ScreenKey(
            limits: limits, transcript: transcript.version, lists: listBytes, head: journal.head,
            epoch: journal.epoch, history: record.history)
        if let lastScreen, lastScreen.key == key { return (key, lastScreen.screen.page) }
        let screen = FirstScreen(transcript, limits, lists: key.lists)
        lastScreen = (key, screen)
        return (key, screen.page)
    }

    private var listBytes: Int { record.todos.encoded().count + record.flaggedFiles.encoded().count }

    private func replacing(_ page: Transcript.Page) -> DaemonMessage.SessionHistoryPage {
        .init(
            sessionID: id, messages: page.messages, nextCursor: page.nextCursor, replaces: true,
            asOfSequence: journal.head, historyID: record.history)
    }

    /// For a client whose cursor belongs to a list that is no longer there: the page replaces what the client has, so the part that
    /// is being streamed must follow it.
    public var newestScreen: (page: DaemonMessage, openPart: DaemonMessage?) {
        let page = FirstScreen(transcript, .page, lists: listBytes).page
        return (.sessionHistoryPage(replacing(page)), start(of: page.openPart))
    }

    private mutating func giveOpenRequests(to client: AttachedClient) {
        let requests = desk.open.map(\.request)
        for request in requests.filter(\.content.isPermission) + requests.filter({ !$0.content.isPermission }) {
            stream(.request(request), to: client)
        }
    }

    /// State that is neither in the messages nor in `session_ready`.
    private mutating func giveLists(to client: AttachedClient) {
        if client.link == .native {
            // Without a word about it, none runs.
            if let turn = runningTurn { stream(.sessionActivityChanged(running(turn)), to: client) }
            if record.title != nil { stream(.sessionTitleChanged(shownTitle), to: client) }
            if !record.todos.isEmpty { stream(.todosUpdated(.init(todos: record.todos)), to: client) }
        }
        guard !record.flaggedFiles.isEmpty else { return }
        stream(.flaggedFilesChanged(.init(sessionID: id, files: record.flaggedFiles)), to: client)
    }

    private func running(_ turn: RunningTurn) -> DaemonMessage.SessionActivityChanged {
        .init(sessionID: id, activity: .running, turnID: turn.id)
    }

    /// A phone keeps the title of the last session it had, so it always gets one.
    private var shownTitle: DaemonMessage.SessionTitleChanged {
        .init(sessionID: id, title: record.title ?? record.summary ?? record.firstMessage ?? id.text)
    }

    /// To one client, as part of its stream; native-only messages do not exist for stock ones.
    mutating func stream(
        _ message: DaemonMessage, to client: AttachedClient, upTo: SequenceNumber? = nil, screen: ScreenKey? = nil
    ) {
        guard client.link == .native || !message.kind.isNativeOnly else { return }
        step.effects.append(.send(SessionMessage(message, upTo: upTo, screen: screen), to: .client(client.id)))
    }

    // MARK: - Presence

    private mutating func announce(_ client: AttachedClient, among others: [AttachedClient]) {
        for other in others {
            if let presence = presence(of: other) { stream(.clientAttached(presence), to: client) }
        }
        guard !others.isEmpty, let presence = presence(of: client) else { return }
        tell(.clientAttached(presence), .attached)
    }

    private func presence(of client: AttachedClient) -> DaemonMessage.ClientAttached? {
        clientNumbers[client.id].map { .init(client: $0, clientKind: client.by.clientKind) }
    }

    mutating func detach(_ client: ClientID, _ moment: Moment) {
        guard let number = clientNumbers.removeValue(forKey: client) else { return }
        // The leaver hears it too, if it still can.
        tell(.clientDetached(.init(client: number)), .attached)
        let node = clients.first { $0.id == client }?.by.node
        clients.removeAll { $0.id == client }
        if let node { noteLeaving(node, moment) }
        workClients = workClients.filter { $0.value != client }
        step.effects.append(.release(client))
        step.effects.append(.listingChanged)
    }

    // MARK: - Gaps

    mutating func resume(_ client: ClientID, after: SequenceNumber) {
        guard let client = clients.first(where: { $0.id == client }) else { return }
        step.effects.append(.restart(client.id))
        // Who was caught up with nothing may have the beginning of a snapshot, which events do not complete.
        let first = after == .zero ? First.snapshot : first(after: after, epoch: journal.epoch)
        if case .snapshot = first { stream(.sessionReady(ready(for: client, first, after: after)), to: client) }
        give(first, to: client)
        // It may have missed a change.
        tellLease(to: client)
    }

    /// A stock client cannot ask: it gets history and open requests once its queue is drained.
    mutating func catchUp(_ client: ClientID) {
        guard let client = clients.first(where: { $0.id == client }) else { return }
        step.effects.append(.restart(client.id))
        giveSnapshot(to: client)
        giveOpenRequests(to: client)
    }
}
