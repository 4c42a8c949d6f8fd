import MewAgent
import MewBase
import MewHost
import MewIdentity
package import MewLoop
import MewNode
import MewSession
import MewStore
import MewWire

/// A whole daemon: takes the state directory, opens the store, listens, serves, and gives everything back in order.
///
///     let program = try await DaemonProgram.start(configuration, on: loops, diagnostics: log)
///     print("mew-node-id:\(program.readiness.node)")
///     await program.run()     // until `stop`
///
/// Whoever starts one runs it, because `run` is what gives the store and the sockets back.
package struct DaemonProgram: Sendable {
    /// The threads of a daemon: packets never wait for a disk.
    package struct Loops: Sendable {
        /// Network and sessions.
        package let network: EventLoop
        /// The commands of agents: their output, and looks into the process table that take a millisecond.
        package let agents: EventLoop
        /// The store, and nothing else: a sync may take long.
        package let store: BlockingLoop
        /// Directories of sessions.
        package let files: BlockingLoop

        package init() throws(SystemError) {
            network = try EventLoop(name: "mew", spin: Spinning.usual)
            agents = try EventLoop(name: "mew-agents")
            store = try BlockingLoop(name: "mew-store")
            files = try BlockingLoop(name: "mew-files")
        }

        /// After `run` has returned.
        package func stop() {
            network.stop()
            agents.stop()
            store.stop()
            files.stop()
        }
    }

    package let readiness: DaemonReadiness
    let loops: Loops
    let daemon: Daemon
    let announcer: ReachAnnouncer
    let sessions: SessionRegistry
    let node: Node
    let store: SQLiteStore
    let control: ControlServer
    let controlListener: UnixListener
    /// Held as long as the program lives.
    let lock: FileLock
    let diagnostics: any DiagnosticSink
    let stopper: Stopper

    /// What a stopping daemon may take to end its turns and say goodbye. Agents that need longer are found as leftovers at
    /// the next start.
    static let drainLimit: Duration = .seconds(5)

    /// Serves until `stop`, then drains: turns are ended and written down, peers are told, the store is closed. Returns
    /// within the drain limit and a moment.
    package func run() async {
        let announcing = loops.network.spawn { await announcer.run() }
        let serving = loops.network.spawn {
            await withDiscardingTaskGroup { group in
                group.addTask { await daemon.run() }
                group.addTask { await control.run() }
            }
        }
        let backIn = await stopper.stopped()
        record("stopping", "the daemon is stopping")
        announcing.cancel()
        await limited { await sessions.shutDown() }
        await daemon.stop(backIn: backIn)
        await controlListener.close()
        await limited { await daemon.connectionsEnded() }
        await node.stop(code: .shuttingDown, reason: "the daemon is stopping")
        await limited { await serving.value }
        await store.close()
        lock.release()
        record("stopped", "the daemon has stopped")
    }

    /// Ends `run`. From anywhere, at once; the first call wins.
    ///
    /// - Parameter backIn: told to peers, who dial again without back-off.
    package func stop(backIn: Duration? = nil) {
        stopper.stop(backIn: backIn)
    }

    /// Goes on after the limit whether or not `body` has ended: what hangs must not keep the process.
    private func limited(_ body: @escaping @Sendable () async -> Void) async {
        let done = Gate()
        loops.network.spawn {
            await body()
            done.close()
        }
        await withTimeLimit(Self.drainLimit, on: loops.network) { _ = await done.passed() }
    }

    private func record(_ name: String, _ message: String) {
        diagnostics.record(ifWanted: .info) { Diagnostic(.info, "daemon", name, message) }
    }
}

/// Says once that it is over, and when the daemon will be back.
final class Stopper: Sendable {
    private let stream: AsyncStream<Duration?>
    private let continuation: AsyncStream<Duration?>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    func stop(backIn: Duration?) {
        continuation.yield(backIn)
    }

    func stopped() async -> Duration? {
        for await backIn in stream { return backIn }
        return nil
    }
}
