internal import MewBase
internal import MewLoop
package import MewSession
internal import MewSim
package import MewWire

/// What the agent did, written down outside every machine: no kill, cut or restart changes it.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class Judge: @unchecked Sendable {
    /// One turn that the agent began.
    package struct Deed: Sendable {
        package let text: String
        package let turn: TurnID
        /// Nil when the agent was killed in the middle.
        package var end: AgentResult?
    }

    /// What the agent was told about a call that it wanted to make.
    package struct Decision: Sendable {
        package let text: String
        package let verdict: PermissionVerdict
    }

    package private(set) var deeds: [Deed] = []
    package private(set) var guidance: [String] = []
    package private(set) var decisions: [Decision] = []

    package init() {}

    /// The words of every turn that was begun, in order.
    package var executed: [String] { deeds.map(\.text) }

    func began(_ turn: AgentTurn) -> Int {
        deeds.append(Deed(text: turn.text, turn: turn.turn))
        guidance += turn.guidance
        return deeds.count - 1
    }

    func ended(_ index: Int, _ result: AgentResult) { deeds[index].end = result }

    func heard(_ words: [String]) { guidance += words }

    func decided(_ verdict: PermissionVerdict, on text: String) {
        decisions.append(Decision(text: text, verdict: verdict))
    }
}

/// An agent whose turns follow from the words of the prompt: it streams some pieces, asks for permission in some turns, looks for
/// guidance, takes its time, and stops when it is cancelled.
struct JudgeAgent: AgentBackend {
    let judge: Judge
    let loop: any Loop

    var name: String { "judged" }

    func run(_ turn: AgentTurn, host: any AgentHost) async -> AgentResult {
        let index = judge.began(turn)
        let result: AgentResult
        do throws(AgentHostError) {
            result = try await work(turn, host)
        } catch {
            result = .cancelled
        }
        judge.ended(index, result)
        return result
    }

    func compact(_ session: SessionID, host: any AgentHost) async -> Bool {
        await LoopClock(loop).pause(for: .milliseconds(300)) == .over
    }

    /// Prompts that begin so get an answer that does not fit into the queue of a device, all at once.
    static let flooding = "flood: "
    /// Of 64 KiB each.
    private static let floodPieces = 90

    private func work(_ turn: AgentTurn, _ host: any AgentHost) async throws(AgentHostError) -> AgentResult {
        var chance = SeededGenerator(seed: turn.text.digest)
        if turn.text.hasPrefix(Self.flooding) { try await flood(turn, host) }
        try await say(Int(chance.below(6)), &chance, turn, host)
        if chance.happens(0.4) {
            let verdict = try await host.requestPermission(
                ToolPermission(
                    toolName: "bash", input: ["command": .string(turn.text)], call: "call", sensitivity: .dangerous))
            judge.decided(verdict, on: turn.text)
        }
        if chance.happens(0.3) { judge.heard(try await host.takeGuidance()) }
        try await say(Int(chance.below(4)), &chance, turn, host)
        return chance.happens(0.1) ? .failed("it went wrong") : .completed
    }

    private func flood(_ turn: AgentTurn, _ host: any AgentHost) async throws(AgentHostError) {
        let piece = String(repeating: "0123456789abcdef", count: 4 << 10)
        for _ in 0..<Self.floodPieces { try await host.emit(.notice(piece)) }
    }

    /// One message of so many pieces.
    private func say(
        _ pieces: Int, _ chance: inout SeededGenerator, _ turn: AgentTurn, _ host: any AgentHost
    ) async throws(AgentHostError) {
        let now = UInt64(max(0, host.now.milliseconds))
        let (message, part) = (MessageID(host.ids.next(milliseconds: now)), PartID(host.ids.next(milliseconds: now)))
        let empty = Part(
            id: part, messageID: message, session: turn.session.ulid ?? ULID(high: 0, low: 0),
            content: .text(Part.Text(text: "")))
        try await host.emit(.provider(.partStart(empty)))
        for piece in 0..<pieces {
            // Some gather into one event, some do not.
            try await pause(.milliseconds(Int64(chance.happens(0.5) ? chance.below(10) : chance.below(800))))
            try await host.emit(.provider(.partDelta(.init(partID: part, delta: "\(turn.text) \(piece), "))))
        }
        try await host.emit(.provider(.partEnd(part)))
        try await host.emit(.provider(.messageEnd(.init(finish: .stop, usage: Tokens()))))
    }

    private func pause(_ time: Duration) async throws(AgentHostError) {
        guard await LoopClock(loop).pause(for: time) == .over else { throw .cancelled }
    }
}

extension String {
    /// The same in every process (FNV-1a).
    var digest: UInt64 { utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } }
}
