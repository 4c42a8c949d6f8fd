import MewBase
import MewLoop
import MewSession
import MewWire

/// An agent that talks as its prompt says:
///
/// - `events COUNT LANES`: so many notices, each of the lanes telling its next one when the last is stored.
/// - `paced COUNT RATE`: so many notices, RATE a second, whether or not those before are stored.
/// - `flood COUNT BYTES NAME`: writes the name down; then so many notices with so long texts, many at the same time.
/// - `ask NAME`, `plan NAME`: one question, or a plan that wants approval; with a yes it writes the name down.
///
/// A notice carries when it was told (`BenchClock`).
struct BenchAgent: AgentBackend {
    static let agentName = "bench"
    /// As long as a line that people read.
    private static let noticeBytes = 100

    let loop: EventLoop

    var name: String { Self.agentName }

    func run(_ turn: AgentTurn, host: any AgentHost) async -> AgentResult {
        let words = turn.text.split(separator: " ").map(String.init)
        let numbers = words.dropFirst().prefix(2).compactMap { Int($0) }.filter { $0 > 0 }
        switch (words.first, words.count, numbers.count) {
        case ("events", 3, 2): return await Self.tell(numbers[0], lanes: numbers[1], host)
        case ("paced", 3, 2): return await tell(numbers[0], perSecond: numbers[1], host)
        case ("flood", 4, 2): return await Self.flood(words[3], numbers[0], bytes: numbers[1], turn, host)
        case ("ask", 2, _): return await Self.ask(words[1], turn, host)
        case ("plan", 2, _): return await Self.propose(words[1], turn, host)
        default: return .failed("say one of: \(Self.usage)")
        }
    }

    static let usage = "'events COUNT LANES', 'paced COUNT RATE', 'flood COUNT BYTES NAME', 'ask NAME', 'plan NAME'"

    static func tell(
        _ count: Int, lanes: Int, bytes: Int = noticeBytes, _ host: any AgentHost
    ) async -> AgentResult {
        let padding = String(repeating: "x", count: bytes)
        return await withTaskGroup(of: AgentResult.self) { group in
            for lane in 0..<lanes {
                let share = count / lanes + (lane < count % lanes ? 1 : 0)
                group.addTask {
                    for _ in 0..<share {
                        if let end = await notice(padding, host) { return end }
                    }
                    return .completed
                }
            }
            return await Self.worst(of: group)
        }
    }

    private func tell(_ count: Int, perSecond rate: Int, _ host: any AgentHost) async -> AgentResult {
        let clock = LoopClock(loop)
        let padding = String(repeating: "x", count: Self.noticeBytes)
        let start = loop.now
        return await withTaskGroup(of: AgentResult.self) { group in
            for number in 0..<count {
                let due = start.advanced(by: .nanoseconds(Int64(number) * 1_000_000_000 / Int64(rate)))
                guard await clock.pause(until: due) == .over else { return .cancelled }
                group.addTask { await Self.notice(padding, host) ?? .completed }
            }
            return await Self.worst(of: group)
        }
    }

    private static func worst(of results: TaskGroup<AgentResult>) async -> AgentResult {
        for await result in results where result != .completed { return result }
        return .completed
    }

    /// Nil when it is stored.
    private static func notice(_ padding: String, _ host: any AgentHost) async -> AgentResult? {
        do throws(AgentHostError) {
            try await host.emit(.notice("@\(BenchClock.now) \(padding)"))
            return nil
        } catch {
            return error == .cancelled ? .cancelled : .failed("the session does not take it: \(error)")
        }
    }
}
