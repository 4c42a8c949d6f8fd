import MewBase
import MewClient
import MewWire

extension Command {
    private static let model = Option<String>(
        "model", "M", "a model of 'mew models D', as provider/model or just its name", read: Readers.text("--model"))
    private static let mode = Option<String>(
        "mode", "M", "what runs without asking: \(PermissionMode.allCases.map(\.rawValue).joined(separator: ", "))",
        read: Readers.choice("--mode", PermissionMode.allCases.map(\.rawValue)))

    private static let forgetAllowed = Flag(
        "forget-allowed", "every tool asks again, whatever was allowed 'for the session'")

    static let set = Command(
        "set", "choose the model or the mode of a session, or take back what is allowed",
        positionals: [Common.daemon.required, Common.session.required],
        options: [model.spec, mode.spec, forgetAllowed.spec] + Common.routes,
        details: [
            "The choice is kept by the session, for every device and after a restart. A tool that was allowed 'for the "
                + "session' runs without asking, whatever it is to do and whoever prompts, until --forget-allowed or a "
                + "stricter mode takes that back; 'mew sessions' tells which do."
        ]
    ) { invocation async throws(CommandFailure) in
        let (model, mode, forgets) = (invocation[model], invocation[mode], invocation[forgetAllowed])
        guard model != nil || mode != nil || forgets else {
            throw CommandFailure(
                .badInput, "'mew set' was given nothing to set", hint: "Give --model, --mode or --forget-allowed.")
        }
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        let text = try invocation.required(Common.session)
        try await command.connected(to: target) { daemon async throws(CommandFailure) in
            let session = try await daemon.session(text)
            let id = session.sessionID
            try await daemon.attempt("open the session") { () async throws(ClientError) in
                try await daemon.supervisor.attach(id)
            }
            if let mode {
                let message = ClientMessage.SetPermissionMode(mode: mode)
                try await daemon.change(.setPermissionMode(message), on: id, doing: "set the permission mode")
            }
            if forgets {
                try await daemon.change(.forgetAllowedTools, on: id, doing: "take back what was allowed")
            }
            if let model {
                let chosen = try await choose(model, daemon)
                let message = ClientMessage.SwitchModel(provider: chosen.provider, model: chosen.model)
                try await daemon.change(.switchModel(message), on: id, doing: "switch the model")
            }
            daemon.output.json([
                "session_id": .string(id.text), "model": model.map(JSON.string) ?? .null,
                "mode": mode.map(JSON.string) ?? .null, "forgot_allowed": .bool(forgets),
            ])
            let set = [mode.map { "mode \($0)" }, model.map { "model \($0.printable(limit: 80))" }].compactMap { $0 }
            if !set.isEmpty { daemon.output.line("Set \(set.joined(separator: " and ")) of \(session.named).") }
            if forgets { daemon.output.line("Every tool asks again in \(session.named).") }
        }
        return .ok
    }

    private static func choose(_ text: String, _ daemon: DaemonSession) async throws(CommandFailure) -> ModelInfo {
        let models = try await daemon.attempt("list the models of \(daemon.name)") { () async throws(ClientError) in
            try await daemon.supervisor.request(.listModels) { message in
                if case .modelList(let list) = message { list.models } else { nil }
            }
        }
        let matches = models.filter { $0.id == text || $0.model == text }
        if matches.count == 1 { return matches[0] }
        let near = nearestMatch(to: text, among: models.map(\.id)).map { "Did you mean \($0.printable(limit: 80))?" }
        throw CommandFailure(
            .badInput,
            matches.isEmpty
                ? "\(daemon.name) has no model '\(Readers.shown(text))'"
                : "several providers have a model '\(Readers.shown(text))'",
            hint: near ?? "See 'mew models \(shellQuoted(daemon.name))'.")
    }
}
