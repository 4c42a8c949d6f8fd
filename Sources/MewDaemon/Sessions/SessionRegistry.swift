internal import MewBase
package import MewIdentity
internal import MewLoop
package import MewSession
package import MewWire

/// All sessions of the daemon: finds, loads, makes, lists and deletes them, and leads each message of a client to the one it is for.
///
/// Lives on the network's loop, as the runners do. Only sessions that somebody uses are loaded; of the others it knows their line
/// in the list.
package actor SessionRegistry: SessionService {
    package nonisolated let unownedExecutor: UnownedSerialExecutor

    let environment: SessionEnvironment
    let ledger: OperationLedger
    let directory = ConnectionDirectory()

    /// Loaded sessions, and those that are being loaded.
    private(set) var slots: [SessionID: Slot] = [:]
    /// One line for each session there is.
    var listings: [SessionID: SessionInfo] = [:]
    /// Sessions that are being erased: nobody may load them.
    var deleting: Set<SessionID> = []
    var groups: [GroupRow] = []
    /// A change of the groups is read, written to the disk and applied without another one in between.
    let groupChanges = Turnstile()
    /// Devices that may not do anything any more. What they asked before may still be on its way.
    private(set) var revoked: Set<NodeID> = []
    /// How often each device was revoked since the start: what was asked before that is not taken after a new pairing either.
    private(set) var revocations: [NodeID: UInt64] = [:]
    /// What devices may do that may not do everything. What waits of them and needs more is not done.
    private(set) var limits: [NodeID: Scope] = [:]
    var pinnedProjects: Set<String> = []
    /// Which session each channel hears.
    var attachments: [ClientID: SessionRunner] = [:]
    /// Devices and stock connections whose prompts name no sessions.
    var unnamingDevices: Set<NodeID> = []
    var unnamingClients: Set<ClientID> = []
    /// Questions about operations that are being answered, one of a channel.
    var queries: [ClientID: Task<Void, Never>] = [:]
    /// What everybody was told last about the daemon itself and still holds, for a client that may have missed it.
    private(set) var standing: [DaemonMessage.Kind: DaemonMessage] = [:]
    private(set) var isOpen = false
    private var sweep: LoopTimer?
    private var lastPrune = Instant.zero

    typealias Slot = SessionSlot<Task<LoadOutcome, Never>, SessionRunner>

    /// A session that nobody used for so long is put away. Loading one again takes milliseconds.
    private static let idleTime = Duration.seconds(300)
    private static let sweepInterval = Duration.seconds(60)
    /// How often what is kept for a limited time is looked through.
    private static let pruneInterval = Duration.seconds(3_600)

    package init(_ environment: SessionEnvironment) {
        self.environment = environment
        ledger = OperationLedger(store: environment.store)
        unownedExecutor = environment.loop.asUnownedSerialExecutor()
    }

    /// Reads what there is, ends what a crash left running, marks interrupted turns and goes on with what waited.
    ///
    /// Call once, before any client is added.
    package func start() async throws(StoreError) {
        groups = try await environment.store.groups()
        for name in try await environment.store.settings(under: Self.pinnedPrefix).keys {
            pinnedProjects.insert(String(name.text.dropFirst(Self.pinnedPrefix.text.count)))
        }
        let devices = try await environment.store.devices()
        revoked = Set(devices.filter { $0.revokedAt != nil }.map(\.node))
        for device in devices where device.scope < .control { limits[device.node] = device.scope }
        let lines = try await environment.store.sessions()
        for line in lines { await note(line) }
        let loop = environment.loop
        directory.whenLagging { [weak self] client in
            guard let registry = self else { return }
            loop.spawn { await registry.refresh(client) }
        }
        directory.whenMisled { [weak self] client in
            self?.assumeIsolated { $0.attention(of: client) }
        }
        isOpen = true
        await prune()
        let processes = Dictionary(try await environment.store.processes().map { ($0.session, $0.process) }) { $1 }
        for line in lines where line.row?.isBusy == true || processes[line.id] != nil {
            await recover(line.id, processes[line.id])
        }
    }

    /// The open requests of the session that a client hears.
    private func attention(of client: SessionClient) -> DaemonMessage? {
        guard let session = attachments[client.id]?.id, let line = listings[session] else { return nil }
        return .sessionAttentionChanged(
            .init(
                sessionID: session, pendingPermissions: line.pendingPermissions,
                pendingQuestions: line.pendingQuestions))
    }

    private func note(_ line: SessionLine) async {
        guard let record = line.row.flatMap({ SessionRecord(in: $0) }) else {
            environment.diagnostics.record(
                Diagnostic(
                    .error, "session", "unreadable", "a session's record cannot be read; it can only be deleted",
                    ["session_id": .text(line.id.text)]))
            listings[line.id] = .unreadable(line)
            return await endPrompts(of: line.id)
        }
        listings[line.id] = record.info(line.id, state: .idle)
        listings[line.id]?.headSequence = line.head
    }

    /// A session that cannot be read runs nothing any more: what was acknowledged in it is over.
    private func endPrompts(of id: SessionID) async {
        do throws(StoreError) {
            let ends = try await environment.store.receipts(of: id).compactMap { row -> StoreWrite? in
                guard let end = DaemonMessage.Receipt(in: row)?.lost(at: environment.wall) else { return nil }
                return .advanceReceipt(
                    OperationKey(device: row.device, id: row.operation), at: end.at, body: end.encoded())
            }
            try await environment.store.commit(ends)
        } catch {
            environment.diagnostics.record(
                Diagnostic(
                    .warning, "session", "prompts_not_ended", error.description, ["session_id": .text(id.text)]))
        }
    }

    /// Loading settles what the crash left. For a session that cannot be loaded nothing may go on unseen.
    func recover(_ id: SessionID, _ process: AgentProcess?) async {
        guard listings[id] != nil else { return }
        if case .failure(let failure) = await runner(for: id) {
            environment.diagnostics.record(
                Diagnostic(
                    .error, "session", "recovery_failed", failure.sentence, ["session_id": .text(id.text)]))
            if let process { _ = await isGone(process, of: id) }
        }
    }

    // MARK: - Connections

    package func add(_ client: SessionClient) {
        precondition(client.role != .session, "session channels attach")
        directory.add(client)
    }

    package func remove(_ client: SessionClient) async {
        directory.remove(client)
        unnamingClients.remove(client.id)
        client.end()
        queries[client.id]?.cancel()
        await detach(client)
    }

    func detach(_ client: SessionClient) async {
        guard let runner = attachments.removeValue(forKey: client.id) else { return }
        await runner.perform(.detach(client.id), for: client)
    }

    /// It lost part of what goes to everyone, and has read the rest.
    private func refresh(_ client: SessionClient) {
        sendLists(to: client)
        guard client.link == .native else { return }
        for kind in [DaemonMessage.Kind.reach, .daemonState] {
            if let message = standing[kind] { tell(client, message, nil) }
        }
    }

    package func broadcast(_ message: DaemonMessage) {
        if [.reach, .daemonState].contains(message.kind) { standing[message.kind] = message }
        var forms = FrameForms(message, session: nil)
        directory.broadcast(&forms)
    }

    package func workspace(of session: SessionID) -> SessionWorkspace? {
        listings[session].map { SessionWorkspace(cwd: $0.cwd) }
    }

    package func tally() -> SessionTally {
        SessionTally(
            sessions: listings.count, running: listings.values.count { $0.state == .running },
            needingYou: listings.values.count { $0.pendingPermissions + $0.pendingQuestions > 0 })
    }

    package func readmit(_ device: NodeID, as scope: Scope) {
        revoked.remove(device)
        limits[device] = scope < .control ? scope : nil
    }

    package func works(for device: NodeID) -> Bool {
        slots.values.contains { slot in
            guard case .loaded(let runner) = slot else { return false }
            return runner.assumeIsolated { $0.core.runningTurn?.operation?.device == device }
        }
    }

    package func limit(_ device: NodeID, to scope: Scope) async {
        limits[device] = scope < .control ? scope : nil
        guard scope < .control else { return }
        for slot in slots.values { await runner(in: slot)?.perform(.lowered(device, scope)) }
        _ = await dropStoredWork()
    }

    @discardableResult
    package func revoke(_ device: NodeID) async -> Bool {
        revoked.insert(device)
        revocations[device, default: 0] += 1
        for slot in slots.values { await runner(in: slot)?.perform(.revoked(device)) }
        return await dropStoredWork()
    }

    /// Loading a session drops what the revoked left in it. Of those that nobody uses that is guidance, for the next prompt.
    ///
    /// - Returns: false when some is left, which is dropped as soon as its session is used.
    private func dropStoredWork() async -> Bool {
        var isAllGone = true
        do throws(StoreError) {
            for id in try await environment.store.sessionsWithWork() where slots[id] == nil {
                guard case .failure(let failure) = await runner(for: id), failure.mayPass else { continue }
                noteNotDropped(failure.sentence, ["session_id": .text(id.text)])
                isAllGone = false
            }
        } catch {
            noteNotDropped(error.description)
            isAllGone = false
        }
        return isAllGone
    }

    private func noteNotDropped(_ reason: String, _ fields: [String: Diagnostic.Value] = [:]) {
        environment.diagnostics.record(
            Diagnostic(
                .warning, "session", "work_not_dropped",
                "what revoked devices left in a session is dropped when it is used: \(reason)", fields))
    }

    package func shutDown() async {
        isOpen = false
        if let sweep { environment.loop.cancel(sweep) }
        directory.whenLagging(nil)
        directory.whenMisled(nil)
        await withTaskGroup(of: Void.self) { group in
            for slot in slots.values { group.addTask { await self.runner(in: slot)?.shutDown() } }
        }
    }

    // MARK: - What runners tell

    /// Runners live on the same loop, so that these calls need no hop.
    var services: SessionRunner.Services {
        SessionRunner.Services(
            ledger: ledger, directory: directory,
            listingChanged: { [weak self] info in
                self?.assumeIsolated { registry in registry.update(info) }
            },
            broke: { [weak self] runner in
                self?.assumeIsolated { registry in registry.drop(runner) }
            })
    }

    private func update(_ info: SessionInfo) {
        guard listings[info.sessionID] != nil else { return }
        listings[info.sessionID] = info
    }

    /// A runner that can do nothing more: its channels end, and the session is loaded anew, now or with the next attach.
    private func drop(_ runner: SessionRunner) {
        guard case .loaded(let loaded) = slots[runner.id], loaded === runner else { return }
        forget(runner)
        loadAnew(after: runner)
    }

    /// The only place where what is in memory of a session changes.
    func note(_ event: Slot.Event, of id: SessionID) {
        slots[id] = Slot.after(event, in: slots[id])
    }

    /// Takes a runner out; native channels end, stock connections are attached to nothing.
    func forget(_ runner: SessionRunner) {
        note(.left(runner), of: runner.id)
        for (client, attached) in attachments where attached === runner { attachments[client] = nil }
        runner.assumeIsolated { runner in
            for client in runner.handles.values where client.role == .session { client.end() }
        }
    }

    // MARK: - Putting away

    func armSweep() {
        guard sweep == nil, isOpen else { return }
        let loop = environment.loop
        sweep = loop.schedule(at: loop.now.advanced(by: Self.sweepInterval)) { [weak self] in
            self?.assumeIsolated { registry in registry.putAway() }
        }
    }

    private func putAway() {
        sweep = nil
        let loop = environment.loop
        let deadline = Instant(nanoseconds: loop.now.nanoseconds).advanced(by: .zero - Self.idleTime)
        for case .loaded(let runner) in slots.values
        where runner.assumeIsolated({ $0.isIdle(since: deadline) }) {
            note(.left(runner), of: runner.id)
            listings[runner.id]?.state = .idle
        }
        if lastPrune.advanced(by: Self.pruneInterval) <= loop.now { loop.spawn { [self] in await prune() } }
        if !slots.isEmpty { armSweep() }
    }

    private func prune() async {
        lastPrune = environment.loop.now
        do throws(StoreError) {
            try await environment.store.prune(now: environment.wall)
        } catch {
            environment.diagnostics.record(Diagnostic(.warning, "session", "prune_failed", error.description))
        }
    }
}

extension SessionInfo {
    /// The line of a session whose record is damaged.
    fileprivate static func unreadable(_ line: SessionLine) -> SessionInfo {
        SessionInfo(
            sessionID: line.id, state: .idle,
            createdAt: WallTime(milliseconds: Int64(clamping: line.id.ulid?.milliseconds ?? 0)),
            title: "(damaged: it cannot be read, only deleted)", headSequence: line.head)
    }
}
