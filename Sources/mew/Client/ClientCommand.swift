import MewBase
import MewClient
import MewIdentity
import MewLoop
import MewNode
import MewRelay
import MewWire

/// What a command needs to talk to daemons: the registry, a dialler under the node's key, and the client core on top.
struct ClientCommand: Sendable {
    let context: CommandContext
    let store: FileClientStore
    let environment: ClientEnvironment
    /// Where a node can be looked for of which only the ID is known.
    let knownRelays: [RelayURL]
    /// As they were when the command began.
    private let remembered: [DaemonRecord]
    let relayUse: RelayUse
    let relayTrust: RelayTrust

    /// - Parameter payload: relays that only a payload names.
    static func open(
        _ invocation: Invocation, payload: [String] = []
    ) async throws(CommandFailure) -> ClientCommand {
        let context = invocation.context
        let store = try store(context)
        let file = try ConfigurationFile.read(in: try context.stateDirectory().files)
        let daemons = try await records(in: store).registry.daemons
        let key = try context.key()
        let use = try RelayUse(invocation.relays(payload), file: file, daemons: daemons, device: key.node)
        let trust = try use.loadTrust()
        // One that is not known by its routes is likely to be at the relay of another.
        let knownRelays = use.relays + daemons.flatMap(\.relays).compactMap { try? RelayURL($0) }
        let named = use.relays + daemons.flatMap(\.relayAccess).compactMap { try? RelayURL($0.relay) }
        let options = DialerOptions(
            key: key, knownRelays: knownRelays, namedRelays: named, relayToken: use.credential,
            relayTrust: trust)
        let dialer = try await context.runtime.makeDialer(options, context.runtime)
        let environment = ClientEnvironment(
            dialer: dialer, clock: LoopClock(context.runtime.loop), wallClock: { .now }, entropy: SystemEntropy(),
            store: store, deviceName: HostName.current, app: "mew \(CommandLineProgram.version)", clientKind: .cli)
        return ClientCommand(
            context: context, store: store, environment: environment, knownRelays: knownRelays, remembered: daemons,
            relayUse: use, relayTrust: trust)
    }

    /// Only the registry; nothing is dialled.
    static func store(_ context: CommandContext) throws(CommandFailure) -> FileClientStore {
        FileClientStore(directory: try context.stateDirectory().files, loop: context.runtime.files)
    }

    // MARK: - Daemons

    func records() async throws(CommandFailure) -> ClientRecords {
        try await Self.records(in: store)
    }

    private static func records(in store: FileClientStore) async throws(CommandFailure) -> ClientRecords {
        do throws(ClientStoreError) {
            return try await store.records()
        } catch {
            throw CommandFailure(error, doing: "read the list of daemons")
        }
    }

    /// The daemon that the invocation names, with the routes it names. One that this device does not know is dialled by its
    /// node ID when there is anything to try.
    func daemon(of invocation: Invocation) async throws(CommandFailure) -> Target {
        let text = try invocation.required(Common.daemon)
        let canSearch = !knownRelays.isEmpty || !invocation.arguments.all(Common.address).isEmpty
        let record = try DaemonSelection(try await records().registry).find(text, orDial: canSearch)
        return Target(record: record, routes: invocation.routes(to: record.node))
    }

    /// Relays that are known by other daemons only. Each dial looks for its daemon there as well, in case it is there, but what is
    /// wrong with them is not what keeps it from this device.
    func relaysOfOthers(than target: Target) -> Set<String> {
        let same = remembered.filter { $0.node == target.record.node }
        let own = (([target.record] + same).flatMap(\.relays) + target.routes.relays).compactMap { try? RelayURL($0) }
        let named = own + relayUse.relays
        let others = knownRelays.filter { relay in !named.contains { $0.isSamePlace(as: relay) } }
        return Set(others.map(\.description))
    }

    struct Target: Sendable {
        let record: DaemonRecord
        let routes: DialTarget
        var name: String { record.name }
    }

    // MARK: - Connecting

    /// Runs `body` while connected. The first dial must succeed; later losses are the body's to bear.
    func connected<Value: Sendable>(
        to target: Target,
        _ body: @escaping @Sendable (DaemonSession) async throws(CommandFailure) -> Value
    ) async throws(CommandFailure) -> Value {
        let supervisor = DaemonSupervisor(
            record: target.record, environment: environment, extraRoutes: target.routes, adopts: false)
        let feed = await supervisor.subscribe()
        let result = await withTaskGroup(of: Result<Value, CommandFailure>?.self) { group in
            group.addTask {
                await supervisor.run()
                return nil
            }
            group.addTask {
                let result = await Self.attempt { () async throws(CommandFailure) -> Value in
                    let link = try await ready(feed, target)
                    feed.finish()
                    let session = DaemonSession(
                        command: self, target: target, supervisor: supervisor, link: link)
                    let value = try await body(session)
                    if await supervisor.view.isInTwoPlaces { context.output.warning(Self.inTwoPlaces(target.name)) }
                    return value
                }
                feed.finish()
                await supervisor.stop()
                return result
            }
            var result: Result<Value, CommandFailure>?
            for await next in group { result = result ?? next }
            return result
        }
        guard let result else { throw CommandFailure(.internal, "the command ended without a result") }
        return try result.get()
    }

    /// NEEDS N-18: named on this side too, with the remedy.
    private static func inTwoPlaces(_ daemon: String) -> String {
        "the identity of \(daemon) is in use in two places, which take turns in answering. On one of the two machines, start "
            + "the daemon with a state directory of its own (--home DIR)."
    }

    private static func attempt<Value>(
        _ body: () async throws(CommandFailure) -> Value
    ) async -> Result<Value, CommandFailure> {
        do throws(CommandFailure) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    private func ready(_ feed: Feed<ClientEvent>, _ target: Target) async throws(CommandFailure) -> ReadyLink {
        let others = relaysOfOthers(than: target)
        let result = await telling(of: target) { await Self.outcome(feed, others: others) }
        do throws(ClientError) {
            return try (result ?? .failure(ClientError(.unreachable, "the connection was given up"))).get()
        } catch {
            throw CommandFailure(error, doing: "reach \(target.name)", daemon: target.name, relays: relayUse)
        }
    }

    /// What the dial came to; nil when the feed or this task ended first.
    ///
    /// - Parameter others: relays that decide nothing.
    private static func outcome(_ feed: Feed<ClientEvent>, others: Set<String>) async -> Result<ReadyLink, ClientError>?
    {
        for await event in feed {
            guard case .phase(let phase) = event else { continue }
            switch phase {
            case .ready(let link): return .success(link)
            case .waiting(_, let trouble): return .failure(ClientError(trouble.notDecided(by: others)))
            case .parked(let refusal): return .failure(ClientError(refusal))
            case .idle, .dialing, .greeting, .pairing: continue
            }
        }
        return nil
    }
}

extension Invocation {
    func routes(to node: NodeID) -> DialTarget {
        DialTarget(
            node: node, addresses: arguments.all(Common.address),
            relays: arguments.all(Common.relay).map(\.description))
    }

    /// - Parameter payload: relays that only a payload names.
    fileprivate func relays(_ payload: [String]) -> RelayUse.Given {
        RelayUse.Given(
            relays: arguments.all(Common.relay), token: self[Common.relayToken], trust: self[Common.relayTrust],
            payload: payload.compactMap { try? RelayURL($0) })
    }
}
