import MewBase
import MewClient
import MewWire

// What a daemon offers: directories, agents, models.

extension Command {
    static let projects = offer(
        "projects", "list the directories a daemon's sessions ran in", .listProjects
    ) { message in
        if case .projectList(let list) = message { list.projects } else { nil }
    } show: { projects, output in
        var table = TextTable(["PROJECT", "SESSIONS", "PATH"], flexible: 2)
        for project in projects {
            output.json([
                "path": .string(project.path), "display_name": .string(project.displayName),
                "session_count": .integer(Int64(project.sessionCount)), "pinned": .bool(project.pinned),
            ])
            table.add([
                project.displayName.printableName, "\(project.sessionCount)", project.path.printable(limit: 400),
            ])
        }
        return table
    }

    static let agents = offer("agents", "list the agents a daemon can run", .listAgents) { message in
        if case .agentList(let list) = message { [list] } else { nil }
    } show: { lists, output in
        var table = TextTable(["AGENT", ""], flexible: 0)
        for list in lists {
            for agent in list.agents {
                output.json(["agent": .string(agent), "default": .bool(agent == list.standard)])
                table.add([agent.printableName, agent == list.standard ? "(default)" : ""])
            }
        }
        return table
    }

    static let models = offer("models", "list the models a daemon's sessions can use", .listModels) { message in
        if case .modelList(let list) = message { list.models } else { nil }
    } show: { models, output in
        var table = TextTable(["MODEL", "CONTEXT", "DESCRIPTION"], flexible: 2, hasSentences: true)
        for model in models {
            output.json([
                "id": .string(model.id), "provider": .string(model.provider), "model": .string(model.model),
                "description": model.description.map(JSON.string) ?? .null,
                "context_window": model.contextWindow.map(JSON.integer) ?? .null,
            ])
            table.add([
                model.id.printable(limit: 80), model.contextWindow.map(String.init) ?? "?",
                model.description?.printable(limit: 200) ?? "",
            ])
        }
        return table
    }

    private static func offer<Item: Sendable>(
        _ name: String, _ summary: String, _ request: ClientMessage,
        answer: @escaping @Sendable (DaemonMessage) -> [Item]?,
        show: @escaping @Sendable ([Item], Output) -> TextTable
    ) -> Command {
        Command(name, summary, positionals: [Common.daemon.required], options: Common.routes) {
            invocation async throws(CommandFailure) in
            let command = try await ClientCommand.open(invocation)
            let target = try await command.daemon(of: invocation)
            let items = try await command.connected(to: target) { session async throws(CommandFailure) in
                try await session.attempt("list the \(name) of \(session.name)") { () async throws(ClientError) in
                    try await session.supervisor.request(request, answer: answer)
                }
            }
            let output = invocation.context.output
            let table = show(items, output)
            if table.rows.isEmpty { output.line("\(target.name) has no \(name).") } else { output.table(table) }
            return .ok
        }
    }
}
