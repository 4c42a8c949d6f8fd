import MewBase
import MewSession
import MewTestSupport
import MewWire
import Testing

// Every state of a session against everything that can happen to it: what the client that acts receives, and what the agent is
// told. A changed line is a changed transition: look at it, then change the table.

@Suite("the session's transition table")
struct TransitionTableTests {
    private enum State: String, CaseIterable { case idle, turn, asking, cancelling, command, queued }

    private static let inputs: [(name: String, apply: @Sendable (inout CoreBench, ClientID) -> Void)] = [
        ("prompt", { $0.send(.prompt(.init(text: "x")), from: $1) }),
        ("guide", { $0.send(.guide(.init(text: "x")), from: $1) }),
        ("cancel", { $0.send(.cancel(.init(turnID: $0.core.record.turn?.id)), from: $1) }),
        ("clear", { $0.send(.slashCommand(.init(command: "/clear")), from: $1) }),
        ("model", { $0.send(.switchModel(.init(provider: "p", model: "m")), from: $1) }),
        ("mode", { $0.send(.setPermissionMode(.init(mode: "dangerous")), from: $1) }),
        (
            "answer",
            { bench, client in
                if let entry = bench.core.desk.open.first {
                    bench.answer(entry.request, .permission(.allowOnce), from: client)
                }
            }
        ),
        ("emit", { bench, _ in bench.speak(.emit(.notice("n"))) }),
        (
            "ask",
            { bench, _ in
                bench.speak(.permission(.init(toolName: "t", input: [:], call: "c", sensitivity: .dangerous)))
            }
        ),
        ("completed", { bench, _ in bench.finish(.completed) }),
        ("failed", { bench, _ in bench.finish(.failed("f")) }),
        ("cancelled", { bench, _ in bench.finish(.cancelled) }),
        ("commandEnded", { bench, _ in bench.handle(.commandEnded(isDone: true)) }),
        ("recovered", { bench, _ in bench.handle(.recovered(isAgentGone: true)) }),
        ("shutDown", { bench, _ in bench.handle(.shutDown) }),
        ("erased", { bench, _ in bench.handle(.erased) }),
        ("revoked", { bench, _ in bench.handle(.revoked(CoreBench.node(1))) }),
        ("lowered", { bench, _ in bench.handle(.lowered(CoreBench.node(1), .observe)) }),
        ("deleting", { bench, _ in bench.handle(.deleting) }),
        ("forgetAllowed", { $0.send(.forgetAllowedTools, from: $1) }),
        ("withdraw", { $0.send(.cancel(.init(turnID: $0.waitingTurn)), from: $1) }),
    ]

    private static func bench(in state: State) -> (CoreBench, ClientID) {
        let offer = AgentOffer(models: [ModelInfo(id: "p/m", provider: "p", model: "m")], personas: [])
        var bench = CoreBench(offer: offer)
        let client = bench.attach(isNew: true)
        switch state {
        case .idle: break
        case .command: bench.send(.slashCommand(.init(command: "/clear")), from: client)
        case .turn, .asking, .cancelling, .queued: bench.send(.prompt(.init(text: "first")), from: client)
        }
        switch state {
        case .asking, .cancelling:
            bench.call(.permission(.init(toolName: "t", input: [:], call: "c", sensitivity: .dangerous)))
        case .queued: bench.send(.prompt(.init(text: "second")), from: client)
        case .idle, .turn, .command: break
        }
        if state == .cancelling { bench.send(.cancel(.init(turnID: bench.core.record.turn?.id)), from: client) }
        _ = bench.take(client)
        _ = bench.takeReceipts()
        return (bench, client)
    }

    private static func line(_ state: State, _ name: String, _ apply: (inout CoreBench, ClientID) -> Void) -> String {
        var (bench, client) = bench(in: state)
        let (turns, cancels, commands) = (
            bench.startedTurns.count, bench.cancelledTurns.count, bench.commands.count
        )
        let answered = bench.replies.count
        apply(&bench, client)
        var words = bench.take(client).map(\.rawValue)
        words += bench.takeReceipts().map { receipt in
            "receipt:" + (receipt.code?.rawValue ?? receipt.result?.rawValue ?? receipt.state.rawValue)
        }
        if bench.startedTurns.count > turns { words.append("START") }
        if bench.cancelledTurns.count > cancels { words.append("CANCEL") }
        if bench.commands.count > commands { words.append("COMMAND") }
        if bench.replies.count > answered { words.append("ANSWER×\(bench.replies.count - answered)") }
        return "\(state.rawValue) \(name): \(words.isEmpty ? "–" : words.joined(separator: " "))"
    }

    @Test("every state against every input")
    func table() {
        let lines = State.allCases.flatMap { state in
            Self.inputs.map { Self.line(state, $0.name, $0.apply) }
        }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        idle prompt: user_message session_activity_changed receipt:stored receipt:started START
        idle guide: user_message receipt:done
        idle cancel: receipt:turn_over
        idle clear: receipt:stored COMMAND
        idle model: model_switched thinking_variant_changed receipt:stored receipt:done
        idle mode: permission_mode_changed receipt:done
        idle answer: –
        idle emit: ANSWER×1
        idle ask: ANSWER×1
        idle completed: –
        idle failed: –
        idle cancelled: –
        idle commandEnded: –
        idle recovered: –
        idle shutDown: –
        idle erased: –
        idle revoked: –
        idle lowered: –
        idle deleting: –
        idle forgetAllowed: receipt:done
        idle withdraw: receipt:turn_over
        turn prompt: user_message receipt:stored
        turn guide: user_message receipt:done
        turn cancel: receipt:done CANCEL
        turn clear: receipt:stored
        turn model: receipt:stored
        turn mode: permission_mode_changed receipt:done
        turn answer: –
        turn emit: error_event ANSWER×1
        turn ask: permission_request
        turn completed: session_activity_changed session_title_changed receipt:completed
        turn failed: error_event provider provider session_activity_changed receipt:failed
        turn cancelled: error_event provider provider session_activity_changed receipt:cancelled
        turn commandEnded: –
        turn recovered: error_event provider provider session_activity_changed receipt:interrupted
        turn shutDown: error_event provider provider session_activity_changed receipt:interrupted
        turn erased: error_event provider provider session_activity_changed receipt:interrupted
        turn revoked: –
        turn lowered: –
        turn deleting: error_event provider provider session_activity_changed receipt:interrupted
        turn forgetAllowed: receipt:done
        turn withdraw: receipt:done CANCEL
        asking prompt: user_message receipt:stored
        asking guide: user_message receipt:done
        asking cancel: request_resolved receipt:done CANCEL ANSWER×1
        asking clear: receipt:stored
        asking model: receipt:stored
        asking mode: permission_mode_changed receipt:done
        asking answer: request_resolved answer_verdict receipt:done ANSWER×1
        asking emit: error_event ANSWER×1
        asking ask: permission_request
        asking completed: request_resolved session_activity_changed session_title_changed receipt:completed ANSWER×1
        asking failed: request_resolved error_event provider provider session_activity_changed receipt:failed ANSWER×1
        asking cancelled: request_resolved error_event provider provider session_activity_changed receipt:cancelled ANSWER×1
        asking commandEnded: –
        asking recovered: request_resolved error_event provider provider session_activity_changed receipt:interrupted ANSWER×1
        asking shutDown: request_resolved error_event provider provider session_activity_changed receipt:interrupted ANSWER×1
        asking erased: request_resolved error_event provider provider session_activity_changed receipt:interrupted ANSWER×1
        asking revoked: –
        asking lowered: –
        asking deleting: request_resolved error_event provider provider session_activity_changed receipt:interrupted ANSWER×1
        asking forgetAllowed: receipt:done
        asking withdraw: request_resolved receipt:done CANCEL ANSWER×1
        cancelling prompt: user_message receipt:stored
        cancelling guide: user_message receipt:done
        cancelling cancel: receipt:done
        cancelling clear: receipt:stored
        cancelling model: receipt:stored
        cancelling mode: permission_mode_changed receipt:done
        cancelling answer: –
        cancelling emit: error_event ANSWER×1
        cancelling ask: ANSWER×1
        cancelling completed: session_activity_changed session_title_changed receipt:completed
        cancelling failed: error_event provider provider session_activity_changed receipt:failed
        cancelling cancelled: error_event provider provider session_activity_changed receipt:cancelled
        cancelling commandEnded: –
        cancelling recovered: error_event provider provider session_activity_changed receipt:interrupted
        cancelling shutDown: error_event provider provider session_activity_changed receipt:interrupted
        cancelling erased: error_event provider provider session_activity_changed receipt:interrupted
        cancelling revoked: –
        cancelling lowered: –
        cancelling deleting: error_event provider provider session_activity_changed receipt:interrupted
        cancelling forgetAllowed: receipt:done
        cancelling withdraw: receipt:done
        command prompt: user_message receipt:stored
        command guide: user_message receipt:done
        command cancel: receipt:turn_over
        command clear: receipt:busy
        command model: receipt:stored
        command mode: permission_mode_changed receipt:done
        command answer: –
        command emit: ANSWER×1
        command ask: ANSWER×1
        command completed: –
        command failed: –
        command cancelled: –
        command commandEnded: session_cleared slash_result receipt:done
        command recovered: –
        command shutDown: –
        command erased: receipt:unknown_session
        command revoked: –
        command lowered: –
        command deleting: –
        command forgetAllowed: receipt:done
        command withdraw: receipt:turn_over
        queued prompt: user_message receipt:stored
        queued guide: user_message receipt:done
        queued cancel: receipt:done CANCEL
        queued clear: receipt:stored
        queued model: receipt:stored
        queued mode: permission_mode_changed receipt:done
        queued answer: –
        queued emit: error_event ANSWER×1
        queued ask: permission_request
        queued completed: session_activity_changed session_title_changed session_activity_changed receipt:completed receipt:started START
        queued failed: error_event provider provider session_activity_changed session_activity_changed receipt:failed receipt:started START
        queued cancelled: error_event provider provider session_activity_changed session_activity_changed receipt:cancelled receipt:started START
        queued commandEnded: –
        queued recovered: error_event provider provider session_activity_changed session_activity_changed receipt:interrupted receipt:started START
        queued shutDown: error_event provider provider session_activity_changed receipt:interrupted
        queued erased: error_event provider provider session_activity_changed part_updated receipt:interrupted receipt:cancelled
        queued revoked: part_updated receipt:cancelled
        queued lowered: part_updated receipt:cancelled
        queued deleting: error_event provider provider session_activity_changed receipt:interrupted
        queued forgetAllowed: receipt:done
        queued withdraw: part_updated receipt:cancelled receipt:done
        """
}

extension CoreBench {
    /// Of the prompt that was said last.
    fileprivate var waitingTurn: TurnID? {
        storedEvents.reversed().lazy.compactMap { frame -> TurnID? in
            if case .userMessage(let message) = frame.message { message.turnID } else { nil }
        }.first ?? TurnID(ULID(high: 1, low: 1))
    }

    /// A call of the agent, also when none is there to make it.
    fileprivate mutating func speak(_ call: AgentCall) {
        self.call(call, turn: core.record.turn?.id ?? TurnID(ULID(high: 1, low: 1)))
    }

    fileprivate mutating func finish(_ result: AgentResult) {
        handle(.turnEnded(core.record.turn?.id ?? TurnID(ULID(high: 1, low: 1)), result))
    }
}
