import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: a desk; two devices that answer at one moment, `red` with yes and `blue` with no; a third one that prompts and watches.
// Law (spec/native-wire.md §3, NEEDS N-40): a question has one outcome, and everybody learns the same one.

@Suite("Answers that race, with real processes", .timeLimit(.minutes(5)))
struct AnswerRaceTests {
    private static let rounds = 200

    @Test(
        "of two answers from one barrier one settles, the other is too late and learns who won; 200 rounds, one answer each"
    )
    func race() async throws {
        let stage = try await RaceStage()
        var winners: [String: [Int]] = [:]
        for round in 1...Self.rounds { winners[try await stage.play(round), default: []].append(round) }
        let (red, blue) = (winners["red", default: []], winners["blue", default: []])
        print("figure: of \(Self.rounds) races red won \(red.count), blue won \(blue.count)")
        // The agent was told yes exactly as often as yes won, and then it acted once.
        #expect(try await stage.marks() == red.map(String.init))
        let outcomes = stage.watcher.seen.filter { $0["type"] == "request_resolved" }
        #expect(outcomes.count == Self.rounds)
        #expect(Set(outcomes.compactMap { $0["request_id"]?.asString }).count == Self.rounds)
        await stage.end()
    }
}

private struct RaceStage {
    private let daemon: RealDaemon
    let watcher: BenchDevice
    private let red: BenchDevice
    private let blue: BenchDevice
    private let session: String

    init() async throws {
        daemon = try await RealDaemon()
        var machines: [RealMachine] = []
        for name in ["red", "blue", "watcher"] {
            let machine = RealMachine()
            try await daemon.introduce(machine)
            let node = try #require(try await machine.run("id").outLines.first)
            #expect(try await daemon.machine.run("peers", "rename", node, name).exit == 0)
            machines.append(machine)
        }
        watcher = try await BenchDevice(machines[2])
        session = try await watcher.perform("new")
        red = try await BenchDevice(machines[0], ["answer", "desk", session, "once"])
        blue = try await BenchDevice(machines[1], ["answer", "desk", session, "deny"])
    }

    private var marksPath: String { daemon.machine.home + "/marks" }

    /// - Returns: who won.
    func play(_ round: Int) async throws -> String {
        let mark = watcher.mark
        let prompt = try await watcher.perform("prompt \(session) echo \(round) >>\(marksPath)")
        let question = try await red.next(type: "permission_request")["request_id"]
        #expect(try await blue.next(type: "permission_request")["request_id"] == question)
        // Neither is always the first of the two lines.
        for device in round.isMultiple(of: 2) ? [red, blue] : [blue, red] { device.say("go") }
        let verdicts = try await [
            "red": red.next(type: "answer_verdict"), "blue": blue.next(type: "answer_verdict"),
        ]
        let winner = try #require(verdicts.first { $0.value["outcome"] == "settled" }?.key)
        let loser = try #require(verdicts[winner == "red" ? "blue" : "red"])
        let decision: JSON = winner == "red" ? "allow_once" : "deny"
        #expect(verdicts.values.allSatisfy { $0["request_id"] == question })
        #expect(loser["outcome"] == "too_late" && loser["how"] == "answered", "\(loser.text)")
        #expect(loser["by"]?["name"] == .string(winner) && loser["decision"] == decision, "\(loser.text)")
        let resolved = try await watcher.find(type: "request_resolved", after: mark)
        #expect(resolved["request_id"] == question && resolved["outcome"] == "answered")
        #expect(resolved["by"] == loser["by"] && resolved["decision"] == decision, "\(resolved.text)")
        #expect(try await watcher.end(of: prompt, after: mark)["result"] == "completed")
        return winner
    }

    /// What ran, in order.
    func marks() async throws -> [String] {
        try await RealMachine.Result(of: RealProcess(["cat", marksPath])).outLines
    }

    func end() async {
        for device in [watcher, red, blue] { await device.end() }
        await daemon.stop()
    }
}
