import MewBase
import MewLoop
import MewSession
import MewWire

/// An agent that talks as its prompt says:
///
/// - `events COUNT LANES`: so many notices, each of the lanes telling its next one when the last is stored.
/// - `paced COUNT RATE`: so many notices, RATE a second, whether or not those before are stored.
/// - `ask NAME`, `plan NAME`: one question, or a plan that wants approval; with a yes it writes the name down.
///
/// A notice carries when it was told (`BenchClock`).
struct BenchAgent: AgentBackend {
    static let agentName = "bench"
    /// As long as a line that people read.
    private static let padding = String(repeating: "x", count: 100)

    let loop: EventLoop

    var name: String { Self.agentName }

    func run(_ turn: AgentTurn, host: any AgentHost) async -> AgentResult {
        let words = turn.text.split(separator: " ")
        switch (words.first, words.count) {
        case ("ask", 2): return await Self.ask(String(words[1]), turn, host)
        case ("plan", 2): return await Self.propose(String(words[1]), turn, host)
        default: break
        }
        guard words.count == 3, let count = Int(words[1]), let number = Int(words[2]), count > 0, number > 0 else {
            return .failed("say 'events COUNT LANES', 'paced COUNT RATE', 'ask NAME' or 'plan NAME'")
        }
        switch words[0] {
        case "events": return await Self.tell(count, lanes: number, host)
        case "paced": return await tell(count, perSecond: number, host)
        default: return .failed("there is no '\(words[0])'")
        }
    }

    private static func tell(_ count: Int, lanes: Int, _ host: any AgentHost) async -> AgentResult {
        await withTaskGroup(of: AgentResult.self) { group in
            for lane in 0..<lanes {
                let share = count / lanes + (lane < count % lanes ? 1 : 0)
                group.addTask {
                    for _ in 0..<share {
                        if let end = await notice(host) { return end }
                    }
                    return .completed
                }
            }
            return await Self.worst(of: group)
        }
    }

    private func tell(_ count: Int, perSecond rate: Int, _ host: any AgentHost) async -> AgentResult {
        let clock = LoopClock(loop)
        let start = loop.now
        return await withTaskGroup(of: AgentResult.self) { group in
            for number in 0..<count {
                let due = start.advanced(by: .nanoseconds(Int64(number) * 1_000_000_000 / Int64(rate)))
                guard await clock.pause(until: due) == .over else { return .cancelled }
                group.addTask { await Self.notice(host) ?? .completed }
            }
            return await Self.worst(of: group)
        }
    }

    private static func worst(of results: TaskGroup<AgentResult>) async -> AgentResult {
        for await result in results where result != .completed { return result }
        return .completed
    }

    /// Nil when it is stored.
    private static func notice(_ host: any AgentHost) async -> AgentResult? {
        do throws(AgentHostError) {
            try await host.emit(.notice("@\(BenchClock.now) \(padding)"))
            return nil
        } catch {
            return error == .cancelled ? .cancelled : .failed("the session does not take it: \(error)")
        }
    }
}
