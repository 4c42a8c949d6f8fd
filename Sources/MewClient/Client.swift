public import MewIdentity

/// All the daemons of one device: what an app holds.
///
/// Its owner runs `run()`, which keeps a connection to every daemon of the registry until it is cancelled or `stop()` was
/// called. Commands that talk to one daemon need only a `DaemonSupervisor`.
public actor Client {
    private let environment: ClientEnvironment
    private let deadlines: ClientDeadlines
    private var supervisors: [NodeID: DaemonSupervisor] = [:]
    private var isAsleep = false
    /// Work that must run inside `run()`: one supervisor each.
    private let jobs = Feed<@Sendable () async -> Void>(capacity: Registry.maxDaemons)

    public init(environment: ClientEnvironment, deadlines: ClientDeadlines = ClientDeadlines()) {
        (self.environment, self.deadlines) = (environment, deadlines)
    }

    // MARK: - Life

    public func run() async throws(ClientStoreError) {
        for daemon in try await environment.store.records().registry.daemons { await supervise(daemon) }
        let jobs = jobs
        await withDiscardingTaskGroup { group in
            for await job in jobs { group.addTask { await job() } }
            for supervisor in supervisors.values { await supervisor.stop() }
        }
    }

    /// Ends `run()`, with a goodbye to every daemon.
    public func stop() {
        jobs.finish()
    }

    private func supervise(_ daemon: DaemonRecord) async {
        guard supervisors[daemon.node] == nil else { return }
        // One that never said what it allows has never let this device in: somebody added it to be let in.
        let supervisor = DaemonSupervisor(
            record: daemon, environment: environment, deadlines: deadlines, pairs: daemon.scope == nil)
        supervisors[daemon.node] = supervisor
        if isAsleep { await supervisor.enterBackground() }
        await jobs.send { await supervisor.run() }
    }

    // MARK: - Daemons

    public subscript(node: NodeID) -> DaemonSupervisor? { supervisors[node] }

    /// Remembers a daemon and connects to it; a known one is brought up to date and dialled again.
    @discardableResult
    public func add(_ record: DaemonRecord) async throws(ClientStoreError) -> DaemonRecord {
        let added = try await environment.store.update { records throws(ClientStoreError) in
            do throws(Registry.Refusal) {
                return try records.registry.add(record)
            } catch {
                throw .refused(error)
            }
        }
        if let former = supervisors.removeValue(forKey: added.node) { await former.stop() }
        await supervise(added)
        return added
    }

    /// Drops a daemon with everything that was asked of it. Needs nothing of the daemon (NEEDS N-36).
    public func forget(_ node: NodeID) async throws(ClientStoreError) {
        try await environment.store.update { records throws(ClientStoreError) in
            do throws(Registry.Refusal) {
                try records.forget(node)
            } catch {
                throw .refused(error)
            }
        }
        if let former = supervisors.removeValue(forKey: node) { await former.stop() }
    }

    // MARK: - What the system does

    /// The network changed, or the machine woke: everyone who waits dials now (NEEDS N-16).
    public func triggered() async {
        for supervisor in supervisors.values { await supervisor.triggered() }
    }

    /// The app is not seen any more: nobody dials, no timer runs.
    public func enterBackground() async {
        isAsleep = true
        for supervisor in supervisors.values { await supervisor.enterBackground() }
    }

    /// The app is seen again: everyone dials at once, and no link is believed to live without a sign.
    public func enterForeground() async {
        isAsleep = false
        await withDiscardingTaskGroup { group in
            for supervisor in supervisors.values { group.addTask { await supervisor.enterForeground() } }
        }
    }
}
