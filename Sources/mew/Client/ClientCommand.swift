import MewBase
import MewClient
import MewIdentity
import MewLoop
import MewNode
import MewWire

/// What a command needs to talk to daemons: the registry, a dialler under the node's key, and the client core on top.
struct ClientCommand: Sendable {
    let context: CommandContext
    let store: FileClientStore
    let environment: ClientEnvironment

    static func open(_ context: CommandContext) async throws(CommandFailure) -> ClientCommand {
        let directory = try context.stateDirectory()
        let store = FileClientStore(directory: directory.files, loop: context.runtime.files)
        let dialer = try await context.runtime.makeDialer(try context.key(), context.runtime)
        let environment = ClientEnvironment(
            dialer: dialer, clock: LoopClock(context.runtime.loop), wallClock: { .now }, entropy: SystemEntropy(),
            store: store, deviceName: HostName.current, app: "mew \(CommandLineProgram.version)", clientKind: .cli)
        return ClientCommand(context: context, store: store, environment: environment)
    }

    /// Only the registry; nothing is dialled.
    static func store(_ context: CommandContext) throws(CommandFailure) -> FileClientStore {
        FileClientStore(directory: try context.stateDirectory().files, loop: context.runtime.files)
    }

    // MARK: - Daemons

    func records() async throws(CommandFailure) -> ClientRecords {
        do throws(ClientStoreError) {
            return try await store.records()
        } catch {
            throw CommandFailure(error, doing: "read the list of daemons")
        }
    }

    func daemon(_ text: String) async throws(CommandFailure) -> DaemonRecord {
        try DaemonSelection(try await records().registry).find(text)
    }

    /// The daemon that the invocation names, with the routes it names.
    func daemon(of invocation: Invocation) async throws(CommandFailure) -> Target {
        let record = try await daemon(try invocation.required(Common.daemon))
        return Target(record: record, routes: invocation.routes(to: record.node))
    }

    struct Target: Sendable {
        let record: DaemonRecord
        let routes: DialTarget
        var name: String { record.name }
    }

    // MARK: - Connecting

    /// Runs `body` while connected. The first dial must succeed; later losses are the body's to bear.
    func connected<Value: Sendable>(
        to target: Target, _ body: @escaping @Sendable (DaemonSession) async throws(CommandFailure) -> Value
    ) async throws(CommandFailure) -> Value {
        let supervisor = DaemonSupervisor(
            record: target.record, environment: environment, extraRoutes: target.routes)
        let feed = await supervisor.subscribe()
        let result = await withTaskGroup(of: Result<Value, CommandFailure>?.self) { group in
            group.addTask {
                await supervisor.run()
                return nil
            }
            group.addTask {
                let result = await Self.attempt { () async throws(CommandFailure) -> Value in
                    let link = try await Self.ready(feed, target)
                    feed.finish()
                    let session = DaemonSession(
                        command: self, target: target, supervisor: supervisor, link: link)
                    return try await body(session)
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

    private static func attempt<Value>(
        _ body: () async throws(CommandFailure) -> Value
    ) async -> Result<Value, CommandFailure> {
        do throws(CommandFailure) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    private static func ready(_ feed: Feed<ClientEvent>, _ target: Target) async throws(CommandFailure) -> ReadyLink {
        for await event in feed {
            guard case .phase(let phase) = event else { continue }
            switch phase {
            case .ready(let link): return link
            case .waiting(_, let trouble): throw unreachable(ClientError(trouble), target)
            case .parked(let refusal): throw unreachable(ClientError(refusal), target)
            case .idle, .dialing, .greeting, .pairing: continue
            }
        }
        throw unreachable(ClientError(.unreachable, "the connection was given up"), target)
    }

    private static func unreachable(_ error: ClientError, _ target: Target) -> CommandFailure {
        CommandFailure(error, doing: "reach \(target.name)", daemon: target.name)
    }
}

extension Invocation {
    func routes(to node: NodeID) -> DialTarget {
        DialTarget(
            node: node, addresses: arguments.all(Common.address),
            relays: arguments.all(Common.relay).map(\.description))
    }
}
