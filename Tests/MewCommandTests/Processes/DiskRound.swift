import MewWire
import Testing

@testable import mew

/// One point on its stage: a session of its own, heard by all three devices.
///
/// Touched by the task of its test only.
final class DiskRound {
    let stage: DiskStage
    let session: String
    /// For whoever wants to prompt.
    let command: String
    /// Before the disk was full.
    private(set) var known: [String] = []
    /// The prompt of what goes on, and of what waits behind it.
    private var turn: String?
    private var next: String?
    /// How much each device had told when the disk filled.
    private(set) var marks: [Int] = []

    init(_ stage: DiskStage, _ scene: DiskPoint.Scene) async throws {
        self.stage = stage
        session = try await stage.laptop.perform("new")
        command = stage.command()
        for device in stage.devices.dropFirst() { try await device.perform("attach \(session)") }
        try await begin(scene)
        known = try await stage.history(session)
        marks = stage.toldCounts
    }

    var laptop: BenchDevice { stage.laptop }

    private func begin(_ scene: DiskPoint.Scene) async throws {
        switch scene {
        case .idle: try await runs(stage.command())
        case .asking:
            turn = try await prompt(stage.command())
        case .streaming: try await stream()
        case .queued:
            try await stream()
            let waiting = try await laptop.perform("prompt \(session) \(command)")
            try await laptop.find("stored") { $0["op_id"] == .string(waiting) && $0["state"] == "stored" }
            next = waiting
        }
    }

    private func stream() async throws {
        turn = try await prompt(stage.stalling())
        let mark = laptop.mark
        try await laptop.perform("answer \(session) once")
        try await laptop.find("output", after: mark) { $0["type"] == "tool_progress" && $0["chunk"] == "begun\n" }
    }

    /// - Returns: the prompt whose command asks for permission now.
    private func prompt(_ command: String) async throws -> String {
        let mark = laptop.mark
        let operation = try await laptop.perform("prompt \(session) \(command)")
        try await laptop.find(type: "permission_request", after: mark)
        return operation
    }

    // MARK: - What the laptop does

    func say(_ word: String, _ text: String = "") { laptop.say("\(word) \(session) \(text)") }

    /// A prompt that is allowed, to its end.
    func runs(_ command: String) async throws {
        let operation = try await prompt(command)
        try await laptop.perform("answer \(session) once")
        #expect(try await laptop.end(of: operation)["result"] == "completed")
    }

    /// The first answer was not saved: the question is open still.
    func answerAgain(_ word: String) async throws {
        try await laptop.perform("answer \(session) \(word)")
        try await turnEnds("completed")
    }

    func letNextRun() async throws {
        try await laptop.find(type: "permission_request", after: marks[0])
        try await laptop.perform("answer \(session) once")
        #expect(try await laptop.end(of: try #require(next))["result"] == "completed")
    }

    // MARK: - What it is told

    /// The turn that went on when the disk filled.
    func turnEnds(_ result: String) async throws {
        let end = try await laptop.end(of: try #require(turn))
        #expect(end["result"] == .string(result), "\(end.text)")
    }

    /// The same, told to a laptop that has started anew and asks.
    func isTold(_ result: String) async throws {
        let told = try await stage.machines[0].run("ops", "desk", "--check")
        #expect(told.exit == 0 && told.out.contains("prompt: \(result)"), "\(told.out)\(told.err)")
    }

    /// The operation that was sent is refused because nothing is saved.
    func refused(_ word: String) async throws {
        let sent = try await laptop.find("sent \(word)", after: marks[0]) {
            $0["event"] == "did" && $0["order"] == .string(word)
        }
        let end = try await laptop.end(of: try #require(sent["id"]?.asString))
        #expect(end["state"] == "refused" && end["code"] == "not_saved", "\(end.text)")
    }

    /// What is carried out only when it is done was not.
    func fails(_ word: String) async throws {
        let end = try await laptop.find("failed \(word)", after: marks[0]) {
            $0["event"] == "failed" && $0["order"] == .string(word)
        }
        #expect(end["code"] == "not_saved", "\(end.text)")
    }
}
