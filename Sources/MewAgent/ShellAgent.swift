import MewBase
import MewHost
package import MewLoop
package import MewSession
import MewWire

/// The built-in agent: a prompt is a shell command in the session's directory (DESIGN §9).
///
/// It needs nothing but a shell. It asks permission as the session's mode wants it, streams the output, and reports the exit
/// status. A turn is one command, so it takes neither guidance nor attachments and says so.
package struct ShellAgent: AgentBackend {
    private let loop: EventLoop
    private let home: String
    private let environment: [String]
    private let shell: Shell
    private let patience: Patience

    package var name: String { AgentCatalog.shellName }

    /// - Parameters:
    ///   - loop: not the network's: looking for processes takes a millisecond.
    ///   - home: where sessions without a directory work.
    ///   - environment: `NAME=value` each, for the commands.
    package init(loop: EventLoop, home: String, environment: [String]) {
        self.init(loop: loop, home: home, environment: environment, shell: .installed())
    }

    init(loop: EventLoop, home: String, environment: [String], shell: Shell, patience: Patience = Patience()) {
        self.loop = loop
        self.home = home
        // Nobody reads escape sequences here.
        self.environment = environment.filter { !$0.hasPrefix("TERM=") } + ["TERM=dumb"]
        self.shell = shell
        self.patience = patience
    }

    package func run(_ turn: AgentTurn, host: any AgentHost) async -> AgentResult {
        let command: ShellCommand
        do { command = try ShellCommand(prompt: turn.text) } catch { return .failed(error.description) }
        let transcript = ShellTranscript(command, session: turn.session, ids: host.ids, now: host.now)
        do {
            try await tellWhatIsNotUsed(turn, host)
            try await emit(transcript.opening, host)
            return try await run(command, turn, transcript, host)
        } catch {
            let failure = Self.failure(error)
            // The session closes what stays open when it takes nothing more from us.
            try? await emit(transcript.failed(failure ?? "cancelled", now: host.now), host)
            return failure.map(AgentResult.failed) ?? .cancelled
        }
    }

    /// Why a turn fails when its host refuses something; nil when it was cancelled or is over.
    private static func failure(_ error: AgentHostError) -> String? {
        switch error {
        case .cancelled, .gone: nil
        case .tooLarge(let bytes):
            "The command is too large to be shown to people (\(bytes) bytes as it is sent). Put it into a file."
        case .tooManyRequests:
            "The command needs a permission, and too many questions are open already. Answer some, then send it again."
        case .processRunning: "Not run: another command of this session still runs and does not end."
        }
    }

    private func tellWhatIsNotUsed(_ turn: AgentTurn, _ host: any AgentHost) async throws(AgentHostError) {
        if !turn.attachments.isEmpty { try await host.emit(.notice("The shell agent does not use attachments.")) }
        if !turn.guidance.isEmpty { try await host.emit(.notice(Self.noGuidance)) }
    }

    private static let noGuidance = "The shell agent takes no guidance; send it as a prompt."

    // MARK: - One command

    private func run(
        _ command: ShellCommand, _ turn: AgentTurn, _ transcript: ShellTranscript, _ host: any AgentHost
    ) async throws(AgentHostError) -> AgentResult {
        let verdict = try await host.requestPermission(
            ToolPermission(
                toolName: ShellTranscript.toolName, input: transcript.input, call: transcript.call,
                sensitivity: .dangerous))
        switch verdict {
        case .allowed, .allowedByMode: break
        case .denied(let by):
            let reason = by == nil ? "denied without asking" : "user denied"
            return try await close(transcript, "permission denied: \(reason)", "Not run: \(reason).", host)
        }
        switch try await execute(command, turn, transcript, host) {
        case .notStarted(let reason):
            return try await close(transcript, reason, "Not run: \(reason).", host)
        case .cancelled(let output):
            let reason = output.isEmpty ? "cancelled" : "cancelled\n\(output)"
            try? await emit(transcript.failed(reason, now: host.now), host)
            return .cancelled
        case .ended(let end):
            try await emit(transcript.completed(end, now: host.now), host)
            try await emit(transcript.closing(end.words, ids: host.ids, now: host.now), host)
            if try await !host.takeGuidance().isEmpty { try await host.emit(.notice(Self.noGuidance)) }
            return .completed
        }
    }

    /// The turn of a command that did not run: the agent has done its part.
    private func close(
        _ transcript: ShellTranscript, _ error: String, _ text: String, _ host: any AgentHost
    ) async throws(AgentHostError) -> AgentResult {
        try await emit(transcript.failed(error, now: host.now), host)
        try await emit(transcript.closing(text, ids: host.ids, now: host.now), host)
        return .completed
    }

    private func emit(_ events: [AgentEvent], _ host: any AgentHost) async throws(AgentHostError) {
        for event in events { try await host.emit(event) }
    }

    // MARK: - The process

    private enum Outcome {
        case notStarted(String)
        /// With the output so far.
        case cancelled(String)
        case ended(ShellEnd)
    }

    private func execute(
        _ command: ShellCommand, _ turn: AgentTurn, _ transcript: ShellTranscript, _ host: any AgentHost
    ) async throws(AgentHostError) -> Outcome {
        let directory: SessionDirectory
        do { directory = try SessionDirectory(asked: turn.directory, home: home) } catch {
            return .notStarted(error.description)
        }
        let run = ShellRun(loop: loop, patience: patience)
        let program = shell.program(for: command, directory: directory.cwd, environment: environment(of: turn))
        let process: AgentProcess
        do { process = AgentProcess(try await run.start(program, marker: "MEW_TURN=\(turn.turn)")) } catch {
            return .notStarted("the shell cannot be started: \(error)")
        }
        do { try await host.willStart(process) } catch {
            // The gate stays closed: nothing has run, nothing will.
            await run.terminate()
            _ = await follow(run, nil, host)
            throw error
        }
        await run.release()
        let end = await follow(run, transcript, host)
        if end.exit != nil { try? await host.didEnd(process) }
        return Task.isCancelled ? .cancelled(end.output) : .ended(end)
    }

    private func environment(of turn: AgentTurn) -> [String] {
        environment + ["MEW_SESSION=\(turn.session)"]
    }

    /// Tells the output until the command has ended. A session that is slow to store it slows the command down; one that
    /// takes nothing more, or cancels, ends it.
    private func follow(_ run: ShellRun, _ transcript: ShellTranscript?, _ host: any AgentHost) async -> ShellEnd {
        await withTaskCancellationHandler {
            while true {
                switch await run.next() {
                case .output(let actions):
                    guard let transcript, !Task.isCancelled else { continue }
                    do { try await emit(actions.map(transcript.output), host) } catch { await run.terminate() }
                case .ended(let end):
                    return end
                }
            }
        } onCancel: {
            loop.perform { run.assumeIsolated { $0.terminate() } }
        }
    }
}

extension AgentProcess {
    init(_ process: ProcessIdentity) {
        self.init(number: process.number, startTicks: process.startTicks, bootID: process.bootID)
    }

    /// Ends what a daemon that died has left of this process: everybody in its session. At once, without a grace: nobody
    /// listens to it any more, and until it is gone no turn of its session may start.
    ///
    /// - Parameter loop: blocks for about a millisecond, longer only if a process hangs in the kernel.
    /// - Returns: the command lines of those who do not die.
    package func endLeftovers(on loop: any Loop) async -> [String] {
        let leader = ProcessIdentity(number: number, startTicks: startTicks, bootID: bootID)
        return await loop.spawn { ProcessSession(leader: leader).kill().map(\.commandLine) }.value
    }
}
