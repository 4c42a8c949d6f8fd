import Glibc
import MewSession
import MewWire

// What the agent does under a name, so that a test can kill the daemon over it. When it *runs* it adds the name to the file `runs` in
// the session's directory, which is then its own list of what it did.

extension BenchAgent {
    /// As many lanes as a commit can take together without growing large.
    private static let floodLanes = 64

    static func flood(
        _ name: String, _ count: Int, bytes: Int, _ turn: AgentTurn, _ host: any AgentHost
    ) async -> AgentResult {
        guard noteRun(of: name, in: turn.directory) else { return .failed(unwritten) }
        return await tell(count, lanes: floodLanes, bytes: bytes, host)
    }

    static func ask(_ name: String, _ turn: AgentTurn, _ host: any AgentHost) async -> AgentResult {
        let options = ["yes", "no"].map { QuestionOption(label: $0) }
        let question = Question(prompt: "Shall \(name) run?", options: options)
        return await run(name, turn) { () async throws(AgentHostError) -> Bool in
            try await host.ask([question], call: CallID("call_\(name)")) == ["yes"]
        }
    }

    static func propose(_ name: String, _ turn: AgentTurn, _ host: any AgentHost) async -> AgentResult {
        let plan = ProposedPlan(path: "plan.md", markdown: "1. Run \(name).", persona: "")
        return await run(name, turn) { () async throws(AgentHostError) -> Bool in
            try await host.requestPlanApproval(plan, call: CallID("call_\(name)")) == .approved
        }
    }

    private static func run(
        _ name: String, _ turn: AgentTurn, ifAllowed isAllowed: () async throws(AgentHostError) -> Bool
    ) async -> AgentResult {
        do throws(AgentHostError) {
            guard try await isAllowed() else { return .completed }
        } catch {
            return error == .cancelled ? .cancelled : .failed("the session does not ask it: \(error)")
        }
        return noteRun(of: name, in: turn.directory) ? .completed : .failed(unwritten)
    }

    private static let unwritten = "cannot write down what ran"

    private static func noteRun(of name: String, in directory: String?) -> Bool {
        let home = getenv("HOME").map { String(cString: $0) }
        let file = open((directory ?? home ?? ".") + "/runs", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        let line = Array("\(name)\n".utf8)
        return write(file, line, line.count) == line.count
    }
}
