import MewBase
import MewIdentity
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

// Topology: one daemon that loses its power at any step, one disk that forgets what was not synced, three devices that prompt,
// answer, cancel, take the lease from each other and in the end, sometimes, delete the session; after each cut all of them come back
// and repeat what they got no end of. Laws: no prompt begins twice; every prompt that was acknowledged has one result, for ever; every
// question has one outcome, whoever tells it to whom; a deleted session does not come back. Whether the epoch is the same is left open.

@Suite("the power fails while three devices work")
struct CrowdPowerCutTests {
    @Test("200 seeds", arguments: 0..<20)
    func seeds(block: Int) throws {
        var tally = Tally()
        for seed in (block * 10)..<(block * 10 + 10) { try play(seed: UInt64(seed), &tally) }
        #expect(tally.interrupted > 0 && tally.answered > 0, "nothing happened that could go wrong: \(tally)")
    }

    struct Tally {
        var interrupted = 0
        var answered = 0
    }

    private static let script: [ScriptedAgent.Step] = [
        .emit(.notice("one")),
        .permission(ToolPermission(toolName: "bash", input: [:], call: "c", sensitivity: .dangerous)),
        .emit(.toolProgress("c", chunk: "a")), .emit(.toolProgress("c", chunk: "b")), .emit(.notice("two")),
    ]

    private func play(seed: UInt64, _ tally: inout Tally) throws {
        var random = SeededGenerator(seed: seed)
        let agent = ScriptedAgent(Array(repeating: Self.script, count: 60))
        try SessionsBench.with("crowd", seed: seed, agent: agent) { bench in
            let devices = (1...3).map { CutDevice($0, seed: seed) }
            let session = try devices[0].make(bench)
            for device in devices { try device.comeBack(bench, to: session) }
            for _ in 0..<3 {
                for _ in 0..<6 {
                    for device in devices { try device.act(&random, session) }
                    bench.world.run(steps: Int(random.below(60)))
                }
                try cut(bench, devices, session, &random)
            }
            let isDeleted = seed.isMultiple(of: 4)
            if isDeleted {
                devices[2].delete(session)
                bench.world.run(steps: Int(random.below(60)))
                try cut(bench, devices, session, &random)
            }
            try letAllEnd(bench, devices)
            try judge(bench, devices, agent, isDeleted, &tally)
        }
    }

    private func cut(
        _ bench: SessionsBench, _ devices: [CutDevice], _ session: SessionID, _ random: inout SeededGenerator
    ) throws {
        for device in devices { try device.harvest() }
        bench.kill(seed: random.next())
        try bench.restart()
        for device in devices { try device.comeBack(bench, to: session) }
    }

    /// One device says yes to whatever is asked; more often than there are prompts.
    private func letAllEnd(_ bench: SessionsBench, _ devices: [CutDevice]) throws {
        for _ in 0..<80 {
            try bench.world.run(for: .milliseconds(200))
            for device in devices { try device.harvest() }
            devices[0].answer(.allowOnce)
        }
    }

    private func judge(
        _ bench: SessionsBench, _ devices: [CutDevice], _ agent: ScriptedAgent, _ isDeleted: Bool, _ tally: inout Tally
    ) throws {
        let seed = devices[0].seed
        let texts = agent.deeds.compactMap { if case .began(_, let text) = $0 { text } else { nil } }
        #expect(Set(texts).count == texts.count, "seed \(seed): a prompt ran twice: \(texts)")
        var outcomes: [RequestID: Set<String>] = [:]
        for device in devices {
            try device.judgeEnds(bench)
            outcomes.merge(device.outcomes) { $0.union($1) }
            tally.interrupted += device.ends.values.count { $0.result == .interrupted }
        }
        for (request, told) in outcomes {
            #expect(told.count == 1, "seed \(seed): question \(request) ended as \(told.sorted())")
        }
        tally.answered += outcomes.values.joined().count { $0.hasPrefix("answered") }
        let list = try #require(try devices[0].sessions(bench))
        #expect(list.count == (isDeleted ? 0 : 1), "seed \(seed)")
    }
}

/// A device that keeps its operations until it knows what became of them, and remembers every outcome that it was told.
private final class CutDevice {
    let number: UInt8
    let seed: UInt64
    private var channel: BenchClient?
    private var control: BenchClient?
    private var asked: [(operation: OperationID, message: ClientMessage)] = []
    private var open: [Request] = []
    private var acknowledged: Set<OperationID> = []
    private(set) var ends: [OperationID: DaemonMessage.Receipt] = [:]
    private(set) var outcomes: [RequestID: Set<String>] = [:]

    init(_ number: Int, seed: UInt64) {
        (self.number, self.seed) = (UInt8(number), seed)
    }

    private var node: NodeID { CoreBench.node(number) }

    func make(_ bench: SessionsBench) throws -> SessionID {
        let channel = try bench.client(.session, device: number)
        try channel.send(.newSession(.init(cwd: "/tmp")))
        return try #require(try channel.take().ready?.sessionID)
    }

    // MARK: - Acts

    func act(_ random: inout SeededGenerator, _ session: SessionID) throws {
        try harvest()
        switch random.below(8) {
        case 0, 1: ask(.prompt(.init(text: "\(number).\(asked.count)")))
        case 2, 3: answer(.allowOnce)
        case 4: answer(.deny)
        case 5: ask(.cancel(.init()))
        case 6: ask(.lease(.init(kind: .input, target: session.text, act: random.below(2) == 0 ? .takeOver : .release)))
        default: break
        }
    }

    func answer(_ decision: PermissionDecision) {
        guard let request = open.first else { return }
        let digest = ShownDigest(of: request.shown ?? "", request: request.id)
        ask(.answer(.init(requestID: request.id, content: .permission(decision), shownDigest: digest)))
    }

    func delete(_ session: SessionID) { ask(.deleteSession(.init(sessionID: session))) }

    private func ask(_ message: ClientMessage) {
        let operation = OperationID(ULID(high: UInt64(number), low: UInt64(asked.count + 1)))
        asked.append((operation, message))
        post(message, operation)
    }

    private func post(_ message: ClientMessage, _ operation: OperationID) {
        (message.kind.channel == .control ? control : channel)?.post(message, operation: operation)
    }

    // MARK: - What it is told

    func harvest() throws {
        for client in [channel, control] { for frame in try client?.take() ?? [] { note(frame.message) } }
    }

    private func note(_ message: DaemonMessage) {
        switch message {
        case .request(let request): if !open.contains(where: { $0.id == request.id }) { open.append(request) }
        case .requestResolved(let resolved):
            ended(resolved.requestID, resolved.outcome, resolved.by?.node, resolved.decision)
        case .answerVerdict(let verdict): note(verdict)
        case .receipt(let receipt): note(receipt)
        default: break
        }
    }

    private func note(_ verdict: DaemonMessage.AnswerVerdict) {
        switch verdict.outcome {
        case .settled, .repeated:
            let answer = asked.first { $0.operation == verdict.operation }?.message
            guard case .answer(let answer)? = answer else { return }
            ended(verdict.requestID, .answered, node, answer.content.decision)
        case .tooLate: ended(verdict.requestID, verdict.how, verdict.by?.node, verdict.decision)
        case .notWhatWasShown, .unknown: open.removeAll { $0.id == verdict.requestID }
        }
    }

    private func ended(_ request: RequestID, _ how: RequestOutcome?, _ by: NodeID?, _ decision: String?) {
        open.removeAll { $0.id == request }
        outcomes[request, default: []].insert("\(how?.rawValue ?? "?") by \(by?.z32 ?? "-") \(decision ?? "-")")
    }

    private func note(_ receipt: DaemonMessage.Receipt) {
        if receipt.state == .stored { acknowledged.insert(receipt.operation) }
        guard receipt.isEnd else { return }
        if let known = ends[receipt.operation] {
            #expect(known.verdict == receipt.verdict, "seed \(seed): another end of \(receipt.operation)")
        }
        ends[receipt.operation] = receipt
    }

    // MARK: - Coming back

    /// Attaches as one that knows nothing, and repeats everything without an end.
    func comeBack(_ bench: SessionsBench, to session: SessionID) throws {
        (channel, control) = (
            try bench.client(.session, device: number), try bench.client(.control, device: number)
        )
        open = []
        try channel?.send(.attachSession(.init(sessionID: session)))
        for (operation, message) in asked where ends[operation] == nil { post(message, operation) }
    }

    /// What has no end yet, it asks about; nothing may be left.
    func judgeEnds(_ bench: SessionsBench) throws {
        for part in stride(from: 0, to: asked.count, by: 100) {
            let operations = asked[part..<min(part + 100, asked.count)].map(\.operation)
            try control?.send(.receiptQuery(.init(operations: operations, settle: true)))
            try harvest()
        }
        for (operation, message) in asked {
            let end = ends[operation]
            #expect(end != nil, "seed \(seed): \(message.kind.rawValue) has no end")
            guard case .prompt = message, acknowledged.contains(operation) else { continue }
            #expect(end?.state == .done && end?.result != nil, "seed \(seed): \(end?.verdict ?? "nothing")")
        }
    }

    func sessions(_ bench: SessionsBench) throws -> [SessionInfo]? {
        try control?.send(.listSessions)
        return try control?.take().sessionList
    }
}
