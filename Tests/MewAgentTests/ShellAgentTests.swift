import MewBase
import MewIdentity
import MewLoop
import MewSession
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewAgent

/// Whole turns of the shell agent, with real processes, against a session that only records.
@Suite("A turn of the shell agent", .timeLimit(.minutes(1)))
struct ShellAgentTests {
    private let bench = CommandBench()
    private let host = RecordingHost()
    /// Of this test alone: others run at the same time.
    private let id = TurnID(ULID(high: .random(in: 1 << 32..<1 << 60), low: .random(in: .min ... .max)))

    private func agent(_ patience: Patience = Patience()) -> ShellAgent {
        ShellAgent(
            loop: bench.loop, home: bench.scratch.path, environment: bench.environment + ["TERM=xterm"],
            shell: .installed(), patience: patience)
    }

    private func turn(_ text: String, in directory: String? = nil, guidance: [String] = []) -> AgentTurn {
        AgentTurn(
            session: SessionID(ULID(high: 7, low: 7)), turn: id, text: text,
            guidance: guidance, directory: directory)
    }

    private static let opening = [
        "start tool", "delta arguments", "end part", "end message tool_use", "part running", "tool start", "asked",
    ]
    private static let closing = ["results", "start text", "delta text", "end part", "end message stop"]

    @Test("events come in the order of the stock transcript, and the process is recorded before it runs")
    func order() async {
        #expect(await agent().run(turn("echo hello"), host: host) == .completed)
        #expect(
            host.order
                == Self.opening + ["recorded", "progress", "gone", "part completed", "tool end true"] + Self.closing)
        #expect(host.progress == "hello\n")
        #expect(host.toolState?.phase.completed?.output == "hello\n")
        #expect(host.toolState?.phase.completed?.metadata == ["exit_status": 0])
        #expect(host.toolState?.input == ["command": "echo hello"])
        #expect(host.closingText == "exit status 0")
    }

    @Test("all parts of one answer carry its message, and each answer its own")
    func messages() async {
        _ = await agent().run(turn("true"), host: host)
        var messages: [MessageID] = []
        for event in host.events {
            switch event {
            case .provider(.partStart(let part)), .partUpdated(let part): messages.append(part.messageID)
            default: continue
            }
        }
        #expect(messages.count == 4)
        #expect(Set(messages.prefix(3)).count == 1 && messages[3] != messages[0])
    }

    @Test("permission is asked for as a dangerous tool, with the command as shown")
    func permission() async throws {
        _ = await agent().run(turn("echo hello"), host: host)
        let asked = try #require(host.state.withLock { $0.asked.first })
        #expect(asked.toolName == "bash" && asked.input == ["command": "echo hello"] && asked.sensitivity == .dangerous)
    }

    @Test("a denied command does not run, says who denied it, and completes the turn")
    func denied() async {
        let by = By(node: NodeID(bytes: [UInt8](repeating: 1, count: 32))!, name: "phone", clientKind: .mobile)
        host.state.withLock { $0.verdict = .success(.denied(by: by)) }
        #expect(await agent().run(turn("touch made"), host: host) == .completed)
        #expect(host.order == Self.opening + ["part error", "tool end false"] + Self.closing)
        #expect(host.toolState?.phase.error == "permission denied: user denied")
        #expect(host.closingText == "Not run: user denied.")
        #expect(!bench.exists("made"))
    }

    @Test("what the mode denies without asking is told as that")
    func deniedByMode() async {
        host.state.withLock { $0.verdict = .success(.denied(by: nil)) }
        #expect(await agent().run(turn("touch made"), host: host) == .completed)
        #expect(host.toolState?.phase.error == "permission denied: denied without asking")
    }

    @Test("an exit status other than 0 completes the call with its output and no success")
    func failing() async {
        #expect(await agent().run(turn("echo oops >&2; exit 3"), host: host) == .completed)
        #expect(host.toolState?.phase.completed?.output == "oops\n")
        #expect(host.toolState?.phase.completed?.metadata == ["exit_status": 3])
        #expect(host.order.contains("tool end false"))
        #expect(host.closingText == "exit status 3")
    }

    @Test("a signal is named in words")
    func signalled() async {
        #expect(await agent().run(turn("kill -SEGV $$"), host: host) == .completed)
        #expect(host.closingText == "killed by signal 11 (SIGSEGV)")
        #expect(host.toolState?.phase.completed?.metadata == ["signal": 11])
    }

    @Test("background processes that were ended are named, eight at most")
    func leftovers() async {
        _ = await agent().run(turn("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 >/dev/null 2>&1 & done"), host: host)
        // A process that was caught before it became `sleep` has the name of the shell.
        let text = host.closingText ?? ""
        #expect(text.hasPrefix("exit status 0\nEnded with it: background processes: ") && text.hasSuffix(" and 2 more"))
    }

    @Test("commands see their session and turn, a plain terminal and their own directory")
    func environment() async {
        bench.scratch.directory("here")
        _ = await agent().run(turn("echo $MEW_SESSION $MEW_TURN $TERM; pwd", in: bench.scratch("here")), host: host)
        let session = SessionID(ULID(high: 7, low: 7))
        #expect(host.progress == "\(session) \(id) dumb\n\(bench.scratch("here"))\n")
    }

    @Test("without a directory it works at home, and in one that is gone it does not start")
    func directories() async {
        _ = await agent().run(turn("pwd"), host: host)
        #expect(host.progress == "\(bench.scratch.path)\n")
        let other = RecordingHost()
        #expect(await agent().run(turn("pwd", in: bench.scratch("gone")), host: other) == .completed)
        #expect(other.toolState?.phase.error == "session cwd does not exist: \(bench.scratch("gone"))")
        #expect(!other.order.contains("recorded"))
    }

    @Test("a prompt that is no command fails the turn with its sentence, and nothing is told before")
    func refused() async {
        #expect(
            await agent().run(turn("  \n"), host: host)
                == .failed("The prompt is empty; this agent takes a shell command."))
        #expect(host.events.isEmpty)
    }

    @Test("guidance is refused in words, before the command or after it")
    func guidance() async {
        host.state.withLock { $0.guidance = ["faster"] }
        _ = await agent().run(turn("true", guidance: ["slower"]), host: host)
        #expect(host.order.first == "notice" && host.order.last == "notice")
    }

    // MARK: - Cancelling

    @Test("a cancelled command is ended with all it started, and keeps what it had printed")
    func cancel() async {
        let turn = turn("sleep 1000 & echo up; sleep 1000")
        let task = Task { [host, agent = agent()] in await agent.run(turn, host: host) }
        host.state.withLock { state in
            state.onEvent = { event in if case .toolProgress = event { task.cancel() } }
        }
        #expect(await task.value == .cancelled)
        #expect(host.toolState?.phase.error == "cancelled\nup\n")
        #expect(host.order.suffix(3) == ["gone", "part error", "tool end false"])
        #expect(ProcessSession.processes(marked: "MEW_TURN=\(turn.turn)") == [])
    }

    @Test("a turn that is cancelled while it waits for permission runs nothing")
    func cancelWhileAsked() async {
        host.state.withLock { $0.verdict = .failure(.cancelled) }
        #expect(await agent().run(turn("touch made"), host: host) == .cancelled)
        #expect(host.toolState?.phase.error == "cancelled")
        #expect(!bench.exists("made"))
    }

    @Test(
        "a command that cannot be asked about fails the turn with its reason, and is not told as cancelled",
        arguments: [
            (AgentHostError.tooLarge(bytes: 600_000), "too large to be shown to people (600000 bytes"),
            (.tooManyRequests, "too many questions are open"),
        ])
    func cannotBeAsked(_ refusal: AgentHostError, _ words: String) async {
        host.state.withLock { $0.verdict = .failure(refusal) }
        guard case .failed(let sentence) = await agent().run(turn("touch made"), host: host) else {
            Issue.record("the turn did not fail")
            return
        }
        #expect(sentence.contains(words))
        #expect(host.toolState?.phase.error == sentence)
        #expect(!bench.exists("made"))
    }

    @Test("a session that takes nothing more ends the command")
    func gone() async {
        host.state.withLock { state in
            state.onEvent = { event throws(AgentHostError) in if case .toolProgress = event { throw .gone } }
        }
        let turn = turn("echo up; sleep 1000")
        _ = await agent().run(turn, host: host)
        #expect(ProcessSession.processes(marked: "MEW_TURN=\(turn.turn)") == [])
    }

    // MARK: - The record

    @Test("a command whose process cannot be recorded never runs")
    func notRecorded() async {
        host.state.withLock { $0.willStart = .failure(.cancelled) }
        #expect(await agent().run(turn("touch made"), host: host) == .cancelled)
        #expect(!bench.exists("made"))
        let other = RecordingHost()
        let process = AgentProcess(number: 1, startTicks: 1, bootID: "")
        other.state.withLock { $0.willStart = .failure(.processRunning(process)) }
        let sentence = "Not run: another command of this session still runs and does not end."
        #expect(await agent().run(turn("touch made"), host: other) == .failed(sentence))
        #expect(other.toolState?.phase.error == sentence)
        #expect(!bench.exists("made"))
    }

    @Test("what a dead daemon has left is ended by the record, and a stranger with the number is not")
    func recovery() async throws {
        let run = bench.newRun()
        let process = try await bench.start(run, "trap '' TERM; echo up; while :; do sleep 1000; done")
        await run.release()
        #expect(await bench.text(of: run) == "up\n")
        let stranger = AgentProcess(
            number: process.number, startTicks: process.startTicks + 1, bootID: process.bootID)
        #expect(await stranger.endLeftovers(on: bench.loop) == [])
        #expect(process.exists)
        #expect(await AgentProcess(process).endLeftovers(on: bench.loop) == [])
        #expect(await bench.end(of: run).exit == .signal(9))
    }
}
