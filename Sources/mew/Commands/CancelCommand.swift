import MewClient
import MewLoop
import MewWire

extension Command {
    static let cancel = Command(
        "cancel", "cancel the running turn of a session",
        positionals: [Common.daemon.required, Common.session.required], options: Common.routes
    ) { invocation async throws(CommandFailure) in
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        let wanted = try invocation.required(Common.session)
        try await command.connected(to: target) { daemon async throws(CommandFailure) in
            let session = try await daemon.session(wanted)
            guard session.state == .running else {
                throw CommandFailure(
                    .turnOver, "no turn is running in that session", hint: "There is nothing to cancel.")
            }
            try await daemon.open(session.sessionID, named: wanted)
            let turn = await daemon.supervisor.view.attached[session.sessionID]?.turn ?? session.turnID
            let events = await daemon.supervisor.subscribe()
            try await daemon.change(
                .cancel(ClientMessage.Cancel(turnID: turn)), on: session.sessionID, doing: "cancel the turn")
            let end = await withTimeLimit(patience, on: daemon.command.context.runtime.loop) {
                await CancelEnd.of(turn, events)
            }.value
            events.finish()
            try end.tell(of: session, daemon.output)
        }
        return .ok
    }

    /// An agent has its time to stop before it is killed.
    private static let patience: Duration = .seconds(15)
}

/// How a turn ended that was to be cancelled. It may have been over first.
private enum CancelEnd: String {
    case cancelled
    /// By itself.
    case ended
    /// Not yet.
    case unknown

    /// The daemon says why a turn ended when it did not come to its own end.
    static func of(_ turn: TurnID?, _ events: Feed<ClientEvent>) async -> CancelEnd {
        var wasCancelled = false
        for await event in events {
            guard case .session(let event) = event else { continue }
            switch event.frame.message {
            case .errorEvent(let error) where error.message == "aborted": wasCancelled = true
            case .sessionActivityChanged(let change) where change.activity != .running:
                guard turn == nil || change.turnID == nil || change.turnID == turn else { continue }
                return wasCancelled ? .cancelled : .ended
            default: continue
            }
        }
        return .unknown
    }

    func tell(of session: SessionInfo, _ output: Output) throws(CommandFailure) {
        output.json(["session_id": .string(session.sessionID.text), "outcome": .string(rawValue)])
        switch self {
        case .cancelled: output.line("Cancelled the turn of \(session.named).")
        case .ended:
            throw CommandFailure(
                .turnOver, "the turn was over before it could be cancelled", hint: "See how it went with 'mew history'."
            )
        case .unknown: output.line("The turn of \(session.named) is being cancelled; it has not ended yet.")
        }
    }
}
