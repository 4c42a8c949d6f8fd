package import MewBase
package import MewIdentity
package import MewSession
internal import MewSim
package import MewWire

/// One `SessionCore` with everything around it played by a test: a store that is a value, clients that note what they get, an
/// agent whose calls the test makes.
package struct CoreBench {
    package private(set) var core: SessionCore
    /// What is stored; a crash goes back to it.
    package private(set) var world = StoredWorld()
    package private(set) var frames: [ClientID: [DaemonFrame]] = [:]
    /// What went to everyone without belonging to the stream.
    package private(set) var broadcasts: [DaemonMessage] = []
    package private(set) var receipts: [DaemonMessage.Receipt] = []
    package private(set) var replies: [AgentCallID: AgentReply] = [:]
    package private(set) var startedTurns: [AgentTurn] = []
    package private(set) var cancelledTurns: [TurnID] = []
    package private(set) var commands: [SessionCommand] = []
    package private(set) var pages: [PageRequest] = []
    /// The names of what was written into the log.
    package private(set) var notes: [String] = []
    package private(set) var clients: [ClientID: AttachedClient] = [:]
    /// Everything that was sent to anybody, for "nothing leaves before it is stored".
    package private(set) var lastWrites: [StoreWrite] = []

    package var now = Instant(nanoseconds: 1_000_000_000)
    package var wall = WallTime(milliseconds: 1_757_500_000_000)
    package let ids: any IDSource
    private var clientNumber: UInt64 = 0
    private var callNumber: UInt64 = 0
    private var operationNumber: UInt64 = 0
    private let offer: AgentOffer

    package static let session = SessionID(ULID(high: 1_757_500_000_000 << 16, low: 1))

    package init(offer: AgentOffer = AgentOffer(models: [], personas: []), model: ModelName? = nil, seed: UInt64 = 1) {
        ids = MonotonicIDs(entropy: SeededEntropy(seed: seed))
        self.offer = offer
        let moment = Moment(now: now, wall: wall, ids: ids)
        func fresh() -> ULID { moment.ids.next(milliseconds: 1_757_500_000_000) }
        let record = SessionRecord(
            createdAt: moment.wall, cwd: "/work/app", agent: "scripted", model: model,
            persona: offer.personas.first?.name, epoch: Epoch(fresh()), history: HistoryID(fresh()))
        core = SessionCore(creating: Self.session, record, offer: offer)
        store([core.created])
    }

    package var moment: Moment { Moment(now: now, wall: wall, ids: ids) }

    // MARK: - Inputs

    /// Decides, stores, performs.
    package mutating func handle(_ input: SessionInput) {
        let step = core.handle(input, at: moment)
        store(step.writes)
        for effect in step.effects { perform(effect) }
    }

    private mutating func store(_ writes: [StoreWrite]) {
        lastWrites = writes
        do throws(StoreError) { try world.apply(writes) } catch { preconditionFailure("\(error)") }
    }

    /// The daemon dies and comes back: only what is stored is left.
    ///
    /// - Parameter isSuspect: the journal may have lost its end.
    package mutating func crash(isSuspect: Bool = false) {
        guard let stored = world.load(core.id, isSuspect: isSuspect) else {
            preconditionFailure("the session is not stored")
        }
        do {
            var younger: [EventRow] = []
            if let after = try SessionCore.missingEvents(in: stored) {
                younger = (world.sessions[core.id]?.events ?? []).filter { $0.sequence > after }
            }
            var older: [MessageRow] = []
            if let missing = try SessionCore.missingMessages(in: stored) {
                older = world.messages(
                    of: core.id, before: missing.upperBound, limit: missing.count, maxBytes: SessionCore.maxHeldBytes)
            }
            let receipts = world.receipts.values.filter { $0.staysWithSession == core.id }
            core = try SessionCore(
                loading: stored, older: older, younger: younger,
                receipts: SessionCore.needsReceipts(for: stored) ? Array(receipts) : [], offer: offer, at: moment)
        } catch {
            preconditionFailure("\(error)")
        }
        (clients, frames) = ([:], [:])
        handle(.recovered(isAgentGone: true))
    }

    /// The daemon dies between the decision and the disk: nothing of it is left, and nobody heard of it.
    package mutating func lose(_ input: SessionInput) {
        _ = core.handle(input, at: moment)
        crash()
    }

    // MARK: - Clients

    package static func node(_ number: UInt8) -> NodeID {
        guard let node = NodeID(bytes: [UInt8](repeating: number, count: 32)) else { preconditionFailure("32 bytes") }
        return node
    }

    @discardableResult
    package mutating func attach(
        _ link: ApplicationProtocol = .native, kind: ClientKind = .cli, device: UInt8 = 1, name: String = "laptop",
        after: SequenceNumber? = nil, epoch: Epoch? = nil, isNew: Bool = false, capabilities: Set<String> = []
    ) -> ClientID {
        clientNumber += 1
        let id = ClientID(clientNumber)
        let client = AttachedClient(
            id: id, link: link, by: By(node: Self.node(device), name: name, clientKind: kind),
            capabilities: capabilities)
        clients[id] = client
        frames[id] = []
        handle(.attach(client, after: after, epoch: epoch, isNew: isNew))
        return id
    }

    package mutating func detach(_ client: ClientID) {
        handle(.detach(client))
        clients[client] = nil
    }

    /// A message of an attached client. Natively it gets the next operation number, or the one given.
    @discardableResult
    package mutating func send(
        _ message: ClientMessage, from client: ClientID, operation: OperationID? = nil, ref: String? = nil
    ) -> OperationID? {
        guard let sender = clients[client] else { preconditionFailure("\(client) is not attached") }
        var key: OperationKey?
        if sender.link == .native, message.kind.changesSomething {
            operationNumber += 1
            key = OperationKey(
                device: sender.by.node, id: operation ?? OperationID(ULID(high: 7, low: operationNumber)))
        }
        handle(
            .request(
                ClientRequest(
                    message, client: client, link: sender.link, by: sender.by, operation: key, content: [1],
                    ref: ref)))
        return key?.id
    }

    /// Answers as an honest client does: with the digest of what it was shown.
    package mutating func answer(
        _ request: Request, _ content: Answer.Content, from client: ClientID, shown: String? = nil
    ) {
        let text = shown ?? request.shown ?? request.content.shownText
        let digest = clients[client]?.link == .native ? ShownDigest(of: text, request: request.id) : nil
        send(
            .answer(Answer(requestID: request.id, content: content, shownDigest: digest)), from: client)
    }

    // MARK: - The agent

    /// One call of the agent that runs the present turn, or `turn`.
    @discardableResult
    package mutating func call(_ call: AgentCall, turn: TurnID? = nil) -> AgentCallID {
        guard let turn = turn ?? startedTurns.last?.turn else { preconditionFailure("no turn was started") }
        callNumber += 1
        let id = AgentCallID(callNumber)
        handle(.agent(id, call, turn: turn))
        return id
    }

    package mutating func emit(_ event: AgentEvent) {
        call(.emit(event))
    }

    package mutating func endTurn(_ result: AgentResult = .completed) {
        guard let turn = startedTurns.last?.turn else { preconditionFailure("no turn was started") }
        handle(.turnEnded(turn, result))
    }

    // MARK: - Effects

    private mutating func perform(_ effect: SessionEffect) {
        switch effect {
        case .send(let message, let audience): send(message, audience)
        case .replay(let events, let from, let client):
            var sequence = from
            for event in events {
                guard case .decoded(let frame) = DaemonFrame.decode(event, from: .native) else {
                    preconditionFailure("a journalled event that cannot be read")
                }
                precondition(frame.sequence == sequence, "an event with another number than its place")
                frames[client, default: []].append(frame)
                sequence = sequence.next
            }
        case .admit, .restart, .release, .listingChanged: break
        case .note(let diagnostic): notes.append(diagnostic.name)
        case .receipt(let receipt, _, _): receipts.append(receipt)
        case .loadPage(let page): pages.append(page)
        case .startTurn(let turn): startedTurns.append(turn)
        case .cancelTurn(let turn): cancelledTurns.append(turn)
        case .answer(let call, let reply): replies[call] = reply
        case .runCommand(let command): commands.append(command)
        }
    }

    private mutating func send(_ message: SessionMessage, _ audience: Audience) {
        let frame = DaemonFrame(message.message, sequence: message.event?.sequence, ref: message.ref)
        switch audience {
        case .client(let client): frames[client, default: []].append(frame)
        case .attached: for client in clients.keys { frames[client, default: []].append(frame) }
        case .everyone:
            broadcasts.append(message.message)
            for (id, client) in clients where client.link == .stock || message.event != nil {
                frames[id, default: []].append(frame)
            }
        }
    }

    // MARK: - Looking at it

    /// The types of what a client got, since the last call.
    package mutating func take(_ client: ClientID) -> [DaemonMessage.Kind] {
        defer { frames[client] = [] }
        return (frames[client] ?? []).map(\.message.kind)
    }

    /// What a client got, since the last call.
    package mutating func takeFrames(_ client: ClientID) -> [DaemonFrame] {
        defer { frames[client] = [] }
        return frames[client] ?? []
    }

    package mutating func takeReceipts() -> [DaemonMessage.Receipt] {
        defer { receipts = [] }
        return receipts
    }

    package mutating func takeBroadcasts() -> [DaemonMessage] {
        defer { broadcasts = [] }
        return broadcasts
    }

    /// The newest request that was shown to a client.
    package func request(at client: ClientID) -> Request? {
        frames[client]?.reversed().lazy.compactMap { frame -> Request? in
            if case .request(let request) = frame.message { request } else { nil }
        }.first
    }

    /// One event as it is stored; nil when there is none of that number.
    package func storedEvent(_ sequence: SequenceNumber) -> DaemonMessage? {
        guard let events = world.sessions[core.id]?.events, sequence.rawValue <= UInt64(events.count),
            sequence > .zero,
            case .decoded(let frame) = DaemonFrame.decode(events[Int(sequence.rawValue) - 1].body, from: .native)
        else { return nil }
        return frame.message
    }

    package var storedEvents: [DaemonFrame] {
        (world.sessions[core.id]?.events ?? []).compactMap { row in
            if case .decoded(let frame) = DaemonFrame.decode(row.body, from: .native) { frame } else { nil }
        }
    }
}
