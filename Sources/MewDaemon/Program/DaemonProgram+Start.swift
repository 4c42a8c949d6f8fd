import MewAgent
package import MewBase
import MewHost
import MewIdentity
import MewLoop
import MewMapping
import MewNode
import MewRelay
import MewSession
import MewStore
import MewWire

extension DaemonProgram {
    /// Takes what a daemon needs, in an order in which nothing is changed by a start that fails: directory, lock, key,
    /// store, sockets.
    package static func start(
        _ configuration: DaemonConfiguration, on loops: Loops, diagnostics: any DiagnosticSink
    ) async throws(StartFailure) -> DaemonProgram {
        let catalog = try agents(configuration.agents)
        let directory = try StateDirectory.open(configuration.directory)
        let lock = try directory.lockListener()
        let missing = MissingFile.all(in: directory)
        let secret = try directory.nodeKey()
        let store = try await openStore(directory, loops, diagnostics)
        do throws(StartFailure) {
            var opened = try await open(secret, directory, configuration, loops, diagnostics)
            opened.warnings = missing.map { $0.warning(in: directory) } + opened.warnings
            for file in missing { diagnostics.record(file.diagnostic(in: directory)) }
            do throws(StartFailure) {
                return try await assemble(
                    opened, catalog: catalog, lock: lock, store: store, directory: directory,
                    configuration: configuration, loops: loops, diagnostics: diagnostics)
            } catch {
                await opened.node.stop()
                throw error
            }
        } catch {
            await store.close()
            throw error
        }
    }

    private static func agents(_ options: [String]) throws(StartFailure) -> AgentCatalog {
        do throws(AgentOptionError) {
            return try AgentCatalog(options: options)
        } catch {
            throw StartFailure(.badInput, "\(error)", hint: "See 'mew help daemon'.")
        }
    }

    private static func openStore(
        _ directory: StateDirectory, _ loops: Loops, _ diagnostics: any DiagnosticSink
    ) async throws(StartFailure) -> SQLiteStore {
        do throws(StoreError) {
            return try await SQLiteStore.open(
                path: directory.path(StateDirectory.Name.database), on: loops.store, diagnostics: diagnostics)
        } catch {
            throw StartFailure(directory.files.path, error)
        }
    }

    // MARK: Listening

    struct Opened {
        let node: Node
        let reachCounter: ReachCounter
        var warnings: [String]
    }

    private static func open(
        _ secret: SecretKey, _ directory: StateDirectory, _ configuration: DaemonConfiguration, _ loops: Loops,
        _ diagnostics: any DiagnosticSink
    ) async throws(StartFailure) -> Opened {
        let entropy = SystemEntropy()
        let counter = ReachCounter(
            directory, wall: SystemWallClock(), loop: loops.files, diagnostics: diagnostics)
        let kept = try directory.keptPort()
        var refusal: NodeError?
        for attempt in ListenPort(given: configuration.bind, kept: kept).attempts(entropy: entropy) {
            let node: Node
            do throws(NodeError) {
                node = try await Node.start(
                    nodeConfiguration(secret, attempt, configuration, counter, diagnostics), network: KernelNetwork(),
                    relays: NetworkRelayConnector(on: loops.network, configuration.relayTrust),
                    loop: loops.network, entropy: entropy)
            } catch {
                guard case .portTaken = error else { throw StartFailure(error) }
                refusal = error
                continue
            }
            let warnings = try await keep(attempt, kept, node, directory, entropy)
            return Opened(node: node, reachCounter: counter, warnings: warnings)
        }
        throw StartFailure(refusal ?? .noNetwork)
    }

    private static func nodeConfiguration(
        _ secret: SecretKey, _ attempt: ListenPort.Attempt, _ configuration: DaemonConfiguration,
        _ counter: ReachCounter, _ diagnostics: any DiagnosticSink
    ) -> Node.Configuration {
        var result = Node.Configuration(secret: secret, addresses: attempt.addresses, diagnostics: diagnostics)
        result.relays = configuration.relays
        result.relayToken = configuration.relayToken
        if configuration.mapsPort { result.routers = NetworkRouters() }
        result.ownAddresses = { PayloadAddresses.current(bound: $0) }
        result.nextRecordTimestamp = { await counter.next() }
        return result
    }

    /// Remembers a new port, and says so when it takes the place of another.
    private static func keep(
        _ attempt: ListenPort.Attempt, _ kept: UInt16?, _ node: Node, _ directory: StateDirectory,
        _ entropy: some Entropy
    ) async throws(StartFailure) -> [String] {
        guard case .wildcard(let port, isKept: false) = attempt else { return [] }
        do throws(StartFailure) {
            try directory.keep(port: port, entropy: entropy)
        } catch {
            await node.stop()
            throw error
        }
        return kept.map {
            [
                "UDP port \($0) is taken by another program; this daemon listens on \(port) from now on. "
                    + "Devices that know only the old address need the new one (mew add --addr)."
            ]
        } ?? []
    }
}

extension ListenPort.Attempt {
    var addresses: [SocketAddress] {
        switch self {
        case .fixed(let addresses): addresses
        case .wildcard(let port, _): [.anyIPv6.with(port: port), .anyIPv4.with(port: port)]
        }
    }
}
