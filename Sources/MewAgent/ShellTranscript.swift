import MewBase
import MewLoop
import MewSession
import MewWire

/// What a turn of the shell agent looks like on the wire: one tool call and a closing text (spec/mew-wire.md §4.5 and §6.2).
///
/// Pure: it makes events, in the order in which they are to be told.
struct ShellTranscript {
    static let toolName = "bash"

    let call: CallID
    let input: JSON
    private let part: PartID
    private let message: MessageID
    private let session: SessionID
    private let start: WallTime
    private let command: String

    init(_ command: ShellCommand, session: SessionID, ids: any IDSource, now: WallTime) {
        let milliseconds = UInt64(max(now.milliseconds, 0))
        message = MessageID(ids.next(milliseconds: milliseconds))
        part = PartID(ids.next(milliseconds: milliseconds))
        call = CallID("call_\(ids.next(milliseconds: milliseconds))")
        input = ["command": .string(command.text)]
        self.session = session
        self.command = command.text
        start = now
    }

    // MARK: - The tool call

    /// The model's side of it, as if a model had asked for the command.
    var opening: [AgentEvent] {
        [
            .provider(.partStart(toolPart(input: [:], .pending))),
            .provider(.partDelta(.init(partID: part, field: "arguments", delta: input.text))),
            .provider(.partEnd(part)),
            .provider(.messageEnd(.init(finish: .toolUse, usage: Tokens()))),
            .partUpdated(toolPart(input: input, .running(output: ""))),
            .toolStarted(call),
        ]
    }

    func output(_ action: OutputPacer.Action) -> AgentEvent {
        switch action {
        case .progress(let text): .toolProgress(call, chunk: text)
        case .snapshot(let text): .partUpdated(toolPart(input: input, .running(output: text)))
        }
    }

    /// The call did not run, or was cut off.
    func failed(_ reason: String, now: WallTime) -> [AgentEvent] {
        [.partUpdated(toolPart(input: input, .error(reason), end: now)), .toolEnded(call, success: false)]
    }

    /// The command ran to its end, whatever it said: what a failed test printed is what people want to see.
    func completed(_ end: ShellEnd, now: WallTime) -> [AgentEvent] {
        let state = ToolState.Phase.completed(.init(output: end.output, metadata: end.metadata))
        return [
            .partUpdated(toolPart(input: input, state, end: now)), .toolEnded(call, success: end.exit == .status(0)),
        ]
    }

    private func toolPart(input: JSON, _ phase: ToolState.Phase, end: WallTime? = nil) -> Part {
        let state = ToolState(input: input, phase: phase, time: ToolTime(start: start, end: end))
        return Part(
            id: part, messageID: message, session: session.partID,
            content: .toolCall(.init(toolName: Self.toolName, callID: call, state: state)))
    }

    // MARK: - The closing text

    /// The second answer of the model: the result of the call goes in, `text` comes out.
    func closing(_ text: String, ids: any IDSource, now: WallTime) -> [AgentEvent] {
        let milliseconds = UInt64(max(now.milliseconds, 0))
        let message = MessageID(ids.next(milliseconds: milliseconds))
        let part = PartID(ids.next(milliseconds: milliseconds))
        let empty = Part(id: part, messageID: message, session: session.partID, content: .text(.init(text: "")))
        return [
            .toolResults([call]),
            .provider(.partStart(empty)),
            .provider(.partDelta(.init(partID: part, delta: text))),
            .provider(.partEnd(part)),
            .provider(.messageEnd(.init(finish: .stop, usage: Tokens()))),
        ]
    }
}

extension SessionID {
    /// What parts carry. The sessions of our daemon all have one.
    fileprivate var partID: ULID { ulid ?? ULID(high: 0, low: 0) }
}

extension ShellEnd {
    /// How it ended, in words: the closing text of the turn.
    var words: String {
        ([exit?.words ?? "The command does not end, and cannot be killed: it waits for a device."]
            + Self.list("Ended with it: background processes", ended)
            + Self.list("Still running on their own", escaped)).joined(separator: "\n")
    }

    /// How it ended, for programs.
    var metadata: JSON? {
        switch exit {
        case .status(let status): ["exit_status": .integer(Int64(status))]
        case .signal(let signal): ["signal": .integer(Int64(signal))]
        case nil: nil
        }
    }

    /// At most eight command lines of 120 characters: a closing text is read, not searched.
    private static func list(_ title: String, _ commandLines: [String]) -> [String] {
        guard !commandLines.isEmpty else { return [] }
        let shown = commandLines.prefix(8).map { $0.count > 120 ? $0.prefix(119) + "…" : $0 }
        let more = commandLines.count - shown.count
        return ["\(title): \(shown.joined(separator: ", "))" + (more > 0 ? " and \(more) more" : "")]
    }
}

extension ProcessExit {
    var words: String {
        switch self {
        case .status(let status): "exit status \(status)"
        case .signal(let signal): "killed by signal \(signal)" + (Self.names[signal].map { " (\($0))" } ?? "")
        }
    }

    /// signal(7), x86 and ARM; real-time signals have no names.
    private static let names: [Int32: String] = [
        1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
        9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
        24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
    ]
}
