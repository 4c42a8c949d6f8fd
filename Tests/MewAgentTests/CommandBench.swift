import Glibc
import MewBase
import MewLoop
import MewTestSupport
import Testing

@testable import MewAgent

/// Runs commands in a scratch directory, on a loop of their own.
final class CommandBench: Sendable {
    let loop: EventLoop
    let scratch = ScratchDirectory()
    let environment = ["PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"]

    init() {
        do { loop = try EventLoop(name: "commands") } catch { preconditionFailure("\(error)") }
    }

    deinit {
        loop.stop()
    }

    func newRun(_ patience: Patience = Patience()) -> ShellRun { ShellRun(loop: loop, patience: patience) }

    func start(_ run: ShellRun, _ command: String, in directory: String? = nil) async throws -> ProcessIdentity {
        let program = Shell.installed().program(
            for: try ShellCommand(prompt: command), directory: directory.map { scratch($0) } ?? scratch.path,
            environment: environment)
        return try await run.start(program, marker: "MEW_TURN=\(scratch.path)")
    }

    /// Runs a command to its end.
    func run(_ command: String, _ patience: Patience = Patience(), in directory: String? = nil) async throws -> ShellEnd
    {
        let run = newRun(patience)
        _ = try await start(run, command, in: directory)
        await run.release()
        return await end(of: run)
    }

    func end(of run: ShellRun) async -> ShellEnd {
        while true {
            if case .ended(let end) = await run.next() { return end }
        }
    }
}

/// A child without a `ShellRun`, as it is when we have died.
struct Holder {
    let child: ChildProcess
    var identity: ProcessIdentity { child.identity }

    init(_ program: ChildProcess.Program, _ input: Descriptor, _ output: Descriptor) throws {
        child = try ChildProcess(program, input: input, output: output)
    }

    /// Closes our end, which is what the kernel does when we are killed.
    func closeAfter(_ gate: Descriptor) { close(gate.number) }

    func waitForExit() -> ProcessExit? {
        var wait = pollfd(fd: child.descriptor.number, events: Int16(POLLIN), revents: 0)
        _ = poll(&wait, 1, -1)
        return child.reap()
    }
}
