import MewAgent
import MewBase
import MewHost
import MewIdentity
import MewLoop
import MewNode
import MewRelay
import MewSession
import MewStore
import MewWire

extension DaemonProgram {
    /// Joins the parts: sessions on the store, the daemon on the node, the control socket beside them.
    static func assemble(
        _ opened: Opened, catalog: AgentCatalog, lock: FileLock, store: SQLiteStore, directory: StateDirectory,
        configuration: DaemonConfiguration, loops: Loops, diagnostics: any DiagnosticSink
    ) async throws(StartFailure) -> DaemonProgram {
        let wall = SystemWallClock()
        let ids = MonotonicIDs(entropy: SystemEntropy())
        let files = HostFiles(loop: loops.files, home: configuration.userHome)
        let backends =
            configuration.extraAgents
            + catalog.backends(
                loop: loops.agents, home: configuration.userHome, environment: configuration.environment)
        let sessions = SessionRegistry(
            SessionEnvironment(
                loop: loops.network, store: store, agents: backends, files: files, ids: ids, wallClock: wall,
                diagnostics: diagnostics
            ) { await $0.endLeftovers(on: loops.files) })
        let daemon = Daemon(
            .init(
                node: opened.node.node, name: configuration.name, version: configuration.version,
                bootID: BootID(ids.next(milliseconds: wall.millisecondsSinceEpoch))),
            in: .init(
                loop: loops.network, wall: wall, listener: opened.node, devices: StoredDevices(store),
                sessions: sessions, files: files, home: configuration.userHome, diagnostics: diagnostics))
        let damage = try await load(sessions, daemon, store, directory)
        let bound = opened.node.addresses
        let announcer = ReachAnnouncer(
            opened.node, daemon, loop: loops.network,
            addresses: { PayloadAddresses.current(bound: bound, limit: PayloadAddresses.reachLimit) },
            nextNumber: { await opened.reachCounter.next() })
        let stopper = Stopper()
        let listener = try listen(directory, loops)
        return DaemonProgram(
            readiness: DaemonReadiness(
                node: opened.node.node, name: configuration.name, addresses: opened.node.addresses,
                relays: await relays(of: opened.node),
                agents: catalog.entries.map(\.name), warnings: opened.warnings, damage: damage),
            loops: loops, daemon: daemon, announcer: announcer, sessions: sessions, node: opened.node, store: store,
            control: control(daemon, listener, opened.node, configuration.relayToken, damage, stopper),
            controlListener: listener, lock: lock,
            diagnostics: diagnostics, stopper: stopper)
    }

    /// A relay one ocean away has answered by then; a daemon that waits longer seems to hang.
    private static let relayPatience: Duration = .seconds(1)

    private static func relays(of node: Node) async -> [DaemonReadiness.Relay] {
        await node.relaysSettled(within: relayPatience)
        return await node.homeRelays().filter { $0.role != .spare }.map { relay in
            DaemonReadiness.Relay(
                url: relay.url, isConnected: relay.status?.isConnected ?? false, problem: relay.status?.problem,
                advice: relay.status?.advice)
        }
    }

    /// Sessions settle what a crash left before anybody can ask. Returns what the database lost.
    private static func load(
        _ sessions: SessionRegistry, _ daemon: Daemon, _ store: SQLiteStore, _ directory: StateDirectory
    ) async throws(StartFailure) -> StoreDamage {
        let damage: StoreDamage
        do throws(StoreError) {
            let repairs = [StoreRepair](stored: try await store.setting(.repairs))
            let losses = [SessionLoss](stored: try await store.setting(.losses))
            damage = StoreDamage(
                repairs: repairs.map { ControlRepair($0) }, losses: losses.map { ControlLoss($0) },
                sessionsGone: try await store.setting(.sessionsGone).flatMap { Int($0) } ?? 0)
            try await sessions.start()
        } catch {
            throw StartFailure(directory.files.path, error)
        }
        do throws(DeviceStoreError) {
            try await daemon.load()
        } catch {
            throw StartFailure(directory.files.path, .damaged(error.reason))
        }
        return damage
    }

    private static func listen(_ directory: StateDirectory, _ loops: Loops) throws(StartFailure) -> UnixListener {
        do throws(SystemError) {
            return try UnixListener(at: directory.path(StateDirectory.Name.controlSocket), on: loops.network)
        } catch {
            throw StartFailure(directory.files.path, error)
        }
    }

    private static func control(
        _ daemon: Daemon, _ listener: UnixListener, _ node: Node, _ token: RelayCredential, _ damage: StoreDamage,
        _ stopper: Stopper
    ) -> ControlServer {
        @Sendable func addresses() -> [String] { PayloadAddresses.current(bound: node.addresses).map(\.description) }
        @Sendable func relays() async -> [String] { await node.reachableRelays().map(\.description) }
        @Sendable func place() async -> ControlServer.Place {
            let relays = await node.reachableRelays()
            return .init(
                addresses: addresses(), relays: relays.map(\.description),
                tokenRelays: relays.filter(token.isShown).map(\.description))
        }
        return ControlServer(
            daemon, listener: listener,
            status: {
                await daemon.status(
                    addresses: addresses(), relays: await relays(), homeRelays: await node.homeRelays(),
                    damage: damage, mapping: await node.portMapping().map(ControlMapping.init))
            },
            net: {
                ControlNet(
                    await node.examineNetwork(), mapping: await node.portMapping(), homes: await node.homeRelays())
            },
            place: { await place() }, shutDown: { stopper.stop(backIn: nil) })
    }
}
