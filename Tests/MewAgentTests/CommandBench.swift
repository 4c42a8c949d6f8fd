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

    func exists(_ name: String) -> Bool { access(scratch(name), F_OK) == 0 }

    /// Runs a command to its end.
    func run(_ command: String, _ patience: Patience = Patience(), in directory: String? = nil) async throws -> ShellEnd
    {
        let run = newRun(patience)
        _ = try await start(run, command, in: directory)
        await run.release()
        return await end(of: run)
    }

    /// What the command says next.
    func text(of run: ShellRun) async -> String {
        guard case .output(let actions) = await run.next() else { return "" }
        return actions.reduce(into: "") { text, action in
            // A machine that is busy for a second makes a snapshot due, too.
            if case .progress(let chunk) = action { text += chunk }
        }
    }

    func end(of run: ShellRun) async -> ShellEnd {
        while true {
            if case .ended(let end) = await run.next() { return end }
        }
    }
}

func waitForExit(of child: ChildProcess) -> ProcessExit? {
    var wait = pollfd(fd: child.descriptor.number, events: Int16(POLLIN), revents: 0)
    _ = poll(&wait, 1, -1)
    return child.reap()
}

/// How many bytes a process has written so far (proc_pid_io(5)).
func bytesWritten(by process: ProcessIdentity) throws -> Int {
    let file = try #require(fopen("/proc/\(process.number)/io", "r"))
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        if text.hasPrefix("wchar: ") { return try #require(Int(text.dropFirst(7).dropLast())) }
    }
    return try #require(nil)
}
