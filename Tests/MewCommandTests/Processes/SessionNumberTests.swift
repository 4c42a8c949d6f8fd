import MewWire
import Testing

@testable import mew

// Topology: a desk and a laptop, real processes on loopback. Law: a number that was shown never means another session later.

@Suite("The numbers of sessions, with real processes", .timeLimit(.minutes(2)))
struct SessionNumberTests {
    private func numbers(_ laptop: RealMachine) async throws -> [String: Int64] {
        let rows = try await laptop.run("sessions", "desk", "--json").objects
        return Dictionary(
            rows.compactMap { row in
                row["session_id"]?.asString.flatMap { id in row["number"]?.asInteger.map { (id, $0) } }
            }, uniquingKeysWith: { first, _ in first })
    }

    @Test("archiving, renaming, using and deleting move no number, and that of a deleted session names nothing")
    func stay() async throws {
        let (daemon, laptop) = (try await RealDaemon(), RealMachine())
        try await daemon.introduce(laptop)
        var ids: [String] = []
        for _ in 0..<3 { ids.append(try #require(try await laptop.run("new", "desk").outLines.first)) }
        let before = try await numbers(laptop)
        #expect(Set(before.values) == [1, 2, 3])
        let (first, second) = (try #require(before[ids[0]]), try #require(before[ids[1]]))
        #expect(try await laptop.run("session", "archive", "desk", "\(first)").exit == 0)
        #expect(try await laptop.run("prompt", "desk", "true", "--session", "\(second)", "--permit", "once").exit == 0)
        #expect(try await numbers(laptop) == before)
        #expect(try await laptop.run("session", "delete", "desk", "\(second)", "--yes").exit == 0)
        let again = try await laptop.run("session", "delete", "desk", "\(second)", "--yes")
        #expect(again.exit == ExitCode.usage.rawValue, "\(again.out)")
        let new = try #require(try await laptop.run("new", "desk").outLines.first)
        #expect(
            try await numbers(laptop) == before.filter { $0.key != ids[1] }.merging([new: 4]) { old, _ in old })
        await daemon.stop()
    }
}
