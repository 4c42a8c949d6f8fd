import MewBase
import MewSession
import MewTestSupport
import MewWire

/// Plays the agent of the stock transcript: what its daemon sent is what this agent tells its session.
final class TranscriptAgent: AgentBackend {
    let name = "stock"
    let models = [
        ModelInfo(
            id: "anthropic/sonnet-x", provider: "anthropic", model: "sonnet-x", thinkingVariants: [.init(name: "high")])
    ]
    let defaultModel: ModelName? = ModelName(provider: "anthropic", model: "sonnet-x")
    let defaultThinkingVariant: String? = "high"
    let personas = [
        AgentPersona(name: "builder", description: "Writes code"),
        AgentPersona(name: "planner", description: "Plans only"),
    ]

    func run(_ turn: AgentTurn, host: any AgentHost) async -> AgentResult {
        guard let session = turn.session.ulid else { return .failed("a session that is not ours") }
        let isFirst = turn.text == "Run the tests"
        let script = isFirst ? Self.firstTurn(session) : Self.secondTurn(session)
        return await ScriptedAgent([script]).run(turn, host: host)
    }

    private static func messages(reconnect: Bool) -> [DaemonMessage] {
        StockTranscript.frames.filter { $0.sender == .daemon && ($0.step == "reconnect") == reconnect }.compactMap {
            guard case .decoded(let frame) = DaemonFrame.decode(Array($0.text.utf8), from: .stock) else { return nil }
            return frame.message
        }
    }

    private static func firstTurn(_ session: ULID) -> [ScriptedAgent.Step] {
        messages(reconnect: false).compactMap { step($0, session, "call_1") }
            // The tokens are counted from each `message_end`; the cost is not in them.
            + [.emit(.usage(SessionUsage(cost: 0.0121), contextTokens: 2_720))]
    }

    /// "Push it": the call whose state the transcript shows at the reconnect, the question, and the end.
    private static func secondTurn(_ session: ULID) -> [ScriptedAgent.Step] {
        messages(reconnect: true).flatMap { message -> [ScriptedAgent.Step] in
            guard case .sessionHistoryPage(let page) = message else {
                return step(message, session, "call_2").map { [$0] } ?? []
            }
            guard let part = page.messages.last?.parts.last?.belonging(to: session) else { return [] }
            return [
                .emit(.provider(.partStart(part.pending))), .emit(.provider(.partEnd(part.id))),
                .emit(.partUpdated(part)), .emit(.toolStarted("call_2")),
            ]
        }
    }

    private static func step(_ message: DaemonMessage, _ session: ULID, _ call: CallID) -> ScriptedAgent.Step? {
        switch message {
        case .provider(let provider):
            guard let part = provider.event.startedPart else { return .emit(.provider(provider.event)) }
            return .emit(.provider(.partStart(part.belonging(to: session))))
        case .partUpdated(let update): return .emit(.partUpdated(update.part.belonging(to: session)))
        case .toolStart(let start): return .emit(.toolStarted(start.callID))
        case .toolProgress(let progress): return .emit(.toolProgress(progress.callID, chunk: progress.chunk))
        case .toolEnd(let end):
            return .run { host async throws(AgentHostError) in
                try await host.emit(.toolEnded(end.callID, success: end.succeeded))
                if end.succeeded { try await host.emit(.toolResults([end.callID])) }
            }
        case .request(let request):
            guard case .permission(let tool, let input) = request.content else { return nil }
            let asked = ToolPermission(toolName: tool, input: input, call: call, sensitivity: .dangerous)
            // What follows is in the transcript, whatever the answer.
            return .run { host async throws(AgentHostError) in _ = try await host.requestPermission(asked) }
        default: return nil
        }
    }
}

extension Part {
    fileprivate func belonging(to session: ULID) -> Part {
        var part = self
        part.session = session
        return part
    }

    /// The same call before it ran.
    fileprivate var pending: Part {
        guard case .toolCall(var call) = content else { return self }
        call.state = ToolState(input: [:], phase: .pending, time: call.state.time)
        var part = self
        part.content = .toolCall(call)
        return part
    }
}
