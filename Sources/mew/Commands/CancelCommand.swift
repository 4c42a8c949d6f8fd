import MewClient
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
            try await daemon.change(
                .cancel(ClientMessage.Cancel(turnID: turn)), on: session.sessionID, doing: "cancel the turn")
            daemon.output.json(["session_id": .string(session.sessionID.text)])
            daemon.output.line("Cancelled the turn of \(session.named).")
        }
        return .ok
    }
}
