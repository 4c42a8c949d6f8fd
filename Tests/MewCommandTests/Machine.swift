import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewTestSupport
import MewWire
import Testing

@testable import mew

/// One machine with its state directory, on which commands run as they would in a shell: over real QUIC on loopback, each in
/// loops of its own.
final class Machine: Sendable {
    let home = ScratchDirectory()

    /// A command that runs beside the test.
    struct Running: Sendable {
        let out: LineCollector
        let err: LineCollector
        private let task: Task<ExitCode, Never>
        private let runtime: Runtime

        init(out: LineCollector, err: LineCollector, task: Task<ExitCode, Never>, runtime: Runtime) {
            (self.out, self.err, self.task, self.runtime) = (out, err, task, runtime)
        }

        /// Ends the command when the test's time is over.
        var exit: ExitCode {
            get async {
                await withTaskCancellationHandler {
                    await task.value
                } onCancel: {
                    task.cancel()
                    runtime.signals.arrived(.terminate)
                }
            }
        }

        func signal(_ signal: Signal) {
            if !runtime.signals.isHeard { Issue.record("\(signal) came too early or too late: \(err.text)") }
            runtime.signals.arrived(signal)
        }
    }

    struct Result {
        let exit: ExitCode
        let out: LineCollector
        let err: LineCollector

        var objects: [JSON] { out.lines.compactMap { try? JSON(parsing: $0) } }
    }

    /// - Parameter offers: the protocols a dial of this command offers.
    func start(
        _ words: [String], offers: [ApplicationProtocol] = ApplicationProtocol.allCases
    ) async throws -> Running {
        let (out, err) = (LineCollector(), LineCollector())
        let loop = try EventLoop(name: "mew")
        let runtime = try await Runtime(loop: loop, signals: nil) {
            options, runtime async throws(CommandFailure) in
            try await Self.dialer(options.key, runtime, offers)
        }
        var program = CommandLineProgram(
            commands: CommandList.all, environment: ["MEW_HOME": home.path, "HOME": home.path], directory: "/",
            runtime: runtime)
        program.standard = out
        program.errors = err
        program.terminal = Terminal(canAsk: false, isScreen: false, columns: 80, rows: 24)
        let ready = program
        let task = loop.spawn {
            let code = await ready.run(words)
            await runtime.end()
            out.end()
            err.end()
            runtime.files.stop()
            loop.stop()
            return code
        }
        return Running(out: out, err: err, task: task, runtime: runtime)
    }

    func run(
        _ words: String..., offers: [ApplicationProtocol] = ApplicationProtocol.allCases
    ) async throws -> Result {
        let running = try await start(words, offers: offers)
        return Result(exit: await running.exit, out: running.out, err: running.err)
    }

    private static func dialer(
        _ key: SecretKey, _ runtime: Runtime, _ offers: [ApplicationProtocol]
    ) async throws(CommandFailure) -> any Dialer {
        do throws(NodeError) {
            let node = try await Node.start(
                Node.Configuration(secret: key, accepts: [], offers: offers), network: KernelNetwork(),
                loop: runtime.loop, entropy: SystemEntropy())
            runtime.atEnd { await node.stop() }
            return node
        } catch {
            throw CommandFailure(.internal, "\(error)")
        }
    }
}
