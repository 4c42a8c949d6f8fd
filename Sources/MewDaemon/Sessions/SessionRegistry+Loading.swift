import MewBase
import MewHost
import MewLoop
import MewSession
import MewWire

// How sessions come into memory and go out of the world.

/// Why there is no session to work with.
struct SessionFailure: Error, Equatable {
    let code: ErrorCode
    let sentence: String

    /// Another try may find the session; one that is gone or unreadable runs nothing any more.
    var mayPass: Bool { self != .unknown && self != .unreadable }

    static let unknown = SessionFailure(code: .unknownSession, sentence: "session not found")
    static let unreadable = SessionFailure(
        code: .internal, sentence: "failed to resume session: its record is damaged; it can only be deleted")
    /// Not "unknown", which would be for ever.
    static let broken = SessionFailure(code: .internal, sentence: "the session failed; attach again")
    static let shuttingDown = SessionFailure(code: .daemonRestarting, sentence: "the daemon is shutting down")
}

typealias LoadOutcome = Result<SessionRunner, SessionFailure>

extension SessionRegistry {
    /// The runner of a session; loads it when nobody has.
    func runner(for id: SessionID) async -> LoadOutcome {
        guard isOpen else { return .failure(.shuttingDown) }
        guard !deleting.contains(id) else { return .failure(.unknown) }
        switch slots[id] {
        case .loaded(let runner):
            // It must not be put away between this and its use.
            keep(runner)
            return .success(runner)
        case .loading(let task): return await outcome(of: task, id)
        case nil: break
        }
        guard listings[id] != nil else { return .failure(.unknown) }
        let task = environment.loop.spawn { [self] in await load(id) }
        note(.asked(task), of: id)
        return await outcome(of: task, id)
    }

    /// While this waited, the session may have been taken away again.
    private func outcome(of loading: Task<LoadOutcome, Never>, _ id: SessionID) async -> LoadOutcome {
        let outcome = await loading.value
        guard case .success(let runner) = outcome else { return outcome }
        guard case .loaded(let loaded) = slots[id], loaded === runner else {
            return .failure(listings[id] == nil || deleting.contains(id) ? .unknown : .broken)
        }
        return outcome
    }

    private func keep(_ runner: SessionRunner) {
        runner.assumeIsolated { $0.touch() }
    }

    /// The runner in a slot; waits for one that is being loaded.
    func runner(in slot: Slot) async -> SessionRunner? {
        switch slot {
        case .loaded(let runner): runner
        case .loading(let task): try? await task.value.get()
        }
    }

    private func isOver(_ runner: SessionRunner) -> Bool { runner.assumeIsolated { $0.health == .over } }

    /// Everybody waits until it is settled. One that fails even at that is not tried again by itself.
    private func load(_ id: SessionID) async -> LoadOutcome {
        let outcome = await read(id)
        guard case .success(let runner) = outcome else {
            note(.unreadable, of: id)
            return outcome
        }
        await settle(runner)
        guard !isOver(runner) else {
            note(.unreadable, of: id)
            return .failure(.broken)
        }
        note(.read(runner), of: id)
        armSweep()
        return outcome
    }

    private func read(_ id: SessionID) async -> LoadOutcome {
        let limits = SessionCore.loadLimits
        do {
            guard let stored = try await environment.store.load(id, limits: limits) else {
                return .failure(listings[id] == nil ? .unknown : .unreadable)
            }
            var older: [MessageRow] = []
            if let missing = try SessionCore.missingMessages(in: stored) {
                older = try await environment.store.messages(
                    of: id, before: missing.upperBound, limit: missing.count, maxBytes: SessionCore.maxHeldBytes)
            }
            var younger: [EventRow] = []
            if let after = try SessionCore.missingEvents(in: stored) {
                younger = try await environment.store.events(of: id, after: after, limit: Self.maxCatchUpEvents)
            }
            let receipts =
                SessionCore.needsReceipts(for: stored) ? try await environment.store.receipts(of: id) : []
            let name = SessionRecord(in: stored.row)?.agent
            let agent = environment.agent(named: name) ?? MissingAgent(name: name ?? "")
            let core = try SessionCore(
                loading: stored, older: older, younger: younger, receipts: receipts, offer: AgentOffer(of: agent),
                at: environment.moment)
            return .success(
                SessionRunner(core, environment: environment, services: services, agent: agent))
        } catch let error as StoreError {
            return .failure(SessionFailure(code: .internal, sentence: "failed to resume session: \(error)"))
        } catch {
            return .failure(.unreadable)
        }
    }

    /// More than the store keeps of a journal beyond its messages.
    private static let maxCatchUpEvents = 20_000

    /// A turn that is started in the store and has no agent was interrupted; a process that is recorded is ended first, so that
    /// at most one works for a session (NEEDS N-35). Before anything goes on, what revoked devices left is dropped.
    private func settle(_ runner: SessionRunner) async {
        var isAgentGone = true
        if let process = await runner.core.record.process { isAgentGone = await isGone(process, of: runner.id) }
        guard isOpen else { return }
        await runner.dropWork(of: revoked, beyond: limits)
        if await runner.core.needsRecovery { await runner.perform(.recovered(isAgentGone: isAgentGone)) }
    }

    /// A runner that is gone leaves its session as it is stored. What is unsettled in it the next one settles at once, because
    /// perhaps nobody comes for it.
    func loadAnew(after runner: SessionRunner) {
        let core = runner.assumeIsolated { $0.committed }
        var line = core.record.info(core.id, state: .idle)
        line.headSequence = core.info.headSequence
        listings[core.id] = line
        guard isOpen, core.needsRecovery else { return }
        environment.loop.spawn { [self] in await recover(core.id, core.record.process) }
    }

    /// Ends what is left of a former agent.
    func isGone(_ process: AgentProcess, of id: SessionID) async -> Bool {
        let left = await environment.endLeftovers(process)
        guard !left.isEmpty else { return true }
        environment.diagnostics.record(
            Diagnostic(
                .error, "session", "orphan", "a process of a former agent does not end",
                ["session_id": .text(id.text), "command": .text(left.joined(separator: "; "))]))
        return false
    }

    // MARK: - New sessions

    /// Every session has a line in memory and in each list. People have hundreds.
    private static let maxSessions = 10_000

    func makeSession(
        cwd: String?, group: GroupID?, agent name: String?, kind: ClientKind, _ request: ClientRequest,
        _ client: SessionClient
    ) async {
        guard let agent = environment.agent(named: name) else {
            return await refuse(request, .badInput, "there is no agent \"\(name ?? "")\"", client)
        }
        guard group == nil || groups.contains(where: { $0.id == group }) else {
            return await refuse(request, .badInput, "session group not found", client)
        }
        guard listings.count < Self.maxSessions else {
            return await refuse(
                request, .busy, "there are \(Self.maxSessions) sessions; delete some that you do not need", client)
        }
        let place: SessionDirectory
        do {
            place = try await environment.files.sessionDirectory(asked: cwd)
        } catch {
            return await refuse(request, .badCwd, error.description, client)
        }
        let moment = environment.moment
        let id = SessionID(environment.ids.next(milliseconds: environment.wallClock.millisecondsSinceEpoch))
        let record = SessionRecord(
            createdAt: moment.wall, cwd: place.cwd, workspacePath: place.workspacePath, agent: agent.name,
            model: agent.defaultModel, thinkingVariant: agent.defaultThinkingVariant,
            persona: agent.personas.first?.name, group: group,
            epoch: Epoch(freshID), history: HistoryID(freshID))
        let core = SessionCore(creating: id, record, offer: AgentOffer(of: agent))
        guard await conclude(request, client, [core.created], session: id) else { return }
        listings[id] = core.info
        let runner = SessionRunner(core, environment: environment, services: services, agent: agent)
        note(.made(runner), of: id)
        armSweep()
        await attach(client, to: runner, kind: kind, after: nil, epoch: nil, isNew: true)
    }

    private var freshID: ULID { environment.ids.next(milliseconds: environment.wallClock.millisecondsSinceEpoch) }

    // MARK: - Attaching

    func attach(
        _ client: SessionClient, to runner: SessionRunner, kind: ClientKind, after: SequenceNumber?, epoch: Epoch?,
        isNew: Bool = false
    ) async {
        await detach(client)
        client.identify(as: kind)
        attachments[client.id] = runner
        let attached = AttachedClient(
            id: client.id, link: client.link, by: client.by, capabilities: client.capabilities)
        await runner.perform(.attach(attached, after: after, epoch: epoch, isNew: isNew), for: client)
        // It may have ended while this waited, and has said so.
        if isOver(runner), attachments[client.id] === runner { attachments[client.id] = nil }
        // It may have gone while this waited for the disk.
        if client.isEnded { await detach(client) }
    }

    // MARK: - Deleting

    /// Ends what runs, then erases, and with it ends what waited. Everybody who waits for an end in it hears it on the session's
    /// channels, which end behind that; others are told by a new list: there is no message for it.
    ///
    /// In between nothing is taken, so that nothing starts between the end of the turn and the erasing. If the disk takes nothing,
    /// the session is still there: it goes on with what waits, and can be attached to again.
    func deleteSession(_ id: SessionID, _ request: ClientRequest, _ client: SessionClient) async {
        guard listings[id] != nil, deleting.insert(id).inserted else {
            return await refuse(request, .unknownSession, "session not found", client)
        }
        let runner = await runnerToErase(id)
        let erasure = await runner?.erasure() ?? SessionStep()
        let isErased = await conclude(request, client, erasure.writes + [.deleteSession(id)])
        if isErased {
            listings[id] = nil
            await runner?.erased(erasure)
        }
        if let runner { forget(runner) }
        deleting.remove(id)
        guard isErased else {
            if let runner { loadAnew(after: runner) }
            return
        }
        if let runner { forget(id, with: runner.agent) }
        broadcastLists()
    }

    /// Stopped; nil for a session that cannot be read, of which nothing can be ended.
    private func runnerToErase(_ id: SessionID) async -> SessionRunner? {
        if let slot = slots[id], let runner = await runner(in: slot) {
            await runner.shutDown(.deleting)
            return runner
        }
        return try? await read(id).get()
    }

    /// In a task of its own: an agent takes its time, and the one who deletes has other things to ask.
    private func forget(_ id: SessionID, with agent: any AgentBackend) {
        let loop = environment.loop
        loop.spawn { await withTimeLimit(Self.forgetPatience, on: loop) { await agent.forget(id) } }
    }

    /// What an agent needs to end a process. One that takes longer is told to stop trying.
    private static let forgetPatience = Duration.seconds(10)
}

/// Stands for an agent that is not configured any more: the session can be read, and says why it does not work.
private struct MissingAgent: AgentBackend {
    let name: String

    func run(_ turn: AgentTurn, host: any AgentHost) async -> AgentResult {
        .failed("the agent \"\(name)\" is not configured on this daemon any more")
    }
}
