import MewBase
import MewSession
import MewWire
import Synchronization
import Testing

/// The session's side of one turn: keeps what the agent tells, answers what it asks.
final class RecordingHost: AgentHost {
    struct State {
        var events: [AgentEvent] = []
        var asked: [ToolPermission] = []
        /// What happened with processes and events, in order, in words.
        var order: [String] = []
        var verdict: Result<PermissionVerdict, AgentHostError> = .success(.allowedByMode)
        var willStart: Result<Void, AgentHostError> = .success(())
        var guidance: [String] = []
        /// Called with each event before it is kept; throwing refuses it.
        var onEvent: (@Sendable (AgentEvent) async throws(AgentHostError) -> Void)?
        var time: Int64 = 1_757_500_000_000
    }

    let state = Mutex(State())
    let ids: any IDSource = MonotonicIDs(entropy: Counting())

    /// A millisecond later at each look.
    var now: WallTime {
        state.withLock { state in
            state.time += 1
            return WallTime(milliseconds: state.time)
        }
    }

    var events: [AgentEvent] { state.withLock { $0.events } }
    /// Without what only a busy machine adds: output told in two pieces, and snapshots of it.
    var order: [String] {
        state.withLock { $0.order }.reduce(into: []) { order, step in
            let isExtra = step == "progress" ? order.last == step : step == "part running" && order.contains(step)
            if !isExtra { order.append(step) }
        }
    }

    func emit(_ event: AgentEvent) async throws(AgentHostError) {
        try await state.withLock(\.onEvent)?(event)
        state.withLock { state in
            state.events.append(event)
            state.order.append(event.summary)
        }
    }

    func requestPermission(_ request: ToolPermission) async throws(AgentHostError) -> PermissionVerdict {
        let verdict = state.withLock { state in
            state.asked.append(request)
            state.order.append("asked")
            return state.verdict
        }
        return try verdict.get()
    }

    func willStart(_ process: AgentProcess) async throws(AgentHostError) {
        let answer = state.withLock { state in
            state.order.append("recorded")
            return state.willStart
        }
        try answer.get()
    }

    func didEnd(_ process: AgentProcess) async throws(AgentHostError) {
        state.withLock { $0.order.append("gone") }
    }

    func takeGuidance() async throws(AgentHostError) -> [String] {
        state.withLock { state in
            defer { state.guidance = [] }
            return state.guidance
        }
    }

    func requestWorkspacePermission(path: String) async throws(AgentHostError) -> PermissionVerdict { .denied(by: nil) }
    func ask(_ questions: [Question], call: CallID) async throws(AgentHostError) -> [String] { [] }
    func requestPlanApproval(_ plan: ProposedPlan, call: CallID) async throws(AgentHostError) -> PlanVerdict {
        .rejected(feedback: nil)
    }
    func proposeGoal(_ objective: String, call: CallID) async throws(AgentHostError) -> Bool { false }

    // MARK: - Looking at it

    /// The last state of the tool call.
    var toolState: ToolState? {
        for case .partUpdated(let part) in events.reversed() { return part.content.toolCall?.state }
        return nil
    }

    /// The text after the tool call.
    var closingText: String? {
        for case .provider(.partDelta(let delta)) in events.reversed() where delta.field == "text" {
            return delta.delta
        }
        return nil
    }

    var progress: String {
        events.reduce(into: "") { text, event in
            if case .toolProgress(_, let chunk) = event { text += chunk }
        }
    }

    private struct Counting: Entropy {
        func fill(_ buffer: UnsafeMutableRawBufferPointer) {
            for index in buffer.indices { buffer[index] = 0 }
        }
    }
}

extension AgentEvent {
    /// One word or two, as the transcript of spec/mew-wire.md §6.2 names it.
    var summary: String {
        switch self {
        case .provider(.partStart(let part)): part.content.toolCall == nil ? "start text" : "start tool"
        case .provider(.partDelta(let delta)): "delta \(delta.field)"
        case .provider(.partEnd): "end part"
        case .provider(.messageEnd(let end)): "end message \(end.finish.rawValue)"
        case .provider: "provider"
        case .partUpdated(let part):
            "part \(part.content.toolCall.map { "\($0.state.phase)".prefix { $0 != "(" } } ?? "?")"
        case .toolStarted: "tool start"
        case .toolProgress: "progress"
        case .toolEnded(_, let success): "tool end \(success)"
        case .toolResults: "results"
        case .notice: "notice"
        default: "other"
        }
    }
}
