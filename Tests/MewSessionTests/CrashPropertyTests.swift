import MewBase
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Testing

// Random operations of three devices and an agent: prompts, commands, switches, leases, answers; crashes between steps, crashes
// that lose a step, loads that are suspect; in the end perhaps the session is erased. Laws, after every step: what a client received
// is stored, unchanged (that numbers have no holes is checked by the store itself); no turn begins twice; an epoch is never used again.
// At the end: every prompt that got a receipt has exactly one result, and all other work that waited has an end.

@Suite("random operations and crashes")
struct CrashPropertyTests {
    @Test("200 seeds: nothing that was told is lost, nothing runs twice", arguments: 0..<20)
    func seeds(block: Int) {
        for seed in (block * 10)..<(block * 10 + 10) {
            var run = Run(seed: UInt64(seed))
            run.go(steps: 80)
        }
    }

    private struct Run {
        let seed: UInt64
        var random: SeededGenerator
        var bench: CoreBench
        var clients: [ClientID] = []
        var turnsBegun: [TurnID] = []
        var results: [OperationID: [TurnResult]] = [:]
        var accepted: Set<OperationID> = []
        var prompts: Set<TurnID> = []
        /// It waits, most often.
        var lastPrompt: TurnID?
        /// What waits or waited besides prompts, and what became of it.
        var stored: Set<OperationID> = []
        var ended: Set<OperationID> = []
        var epochs: Set<Epoch> = []
        var openPart: Part?

        init(seed: UInt64) {
            self.seed = seed
            random = SeededGenerator(seed: seed)
            let offer = AgentOffer(models: [ModelInfo(id: "p/m", provider: "p", model: "m")], personas: [])
            bench = CoreBench(offer: offer, seed: seed)
            epochs = [bench.core.record.epoch]
        }

        mutating func go(steps: Int) {
            for _ in 0..<steps {
                step()
                check()
            }
            if random.below(4) == 0 { bench.handle(.erased) }
            drain()
            check()
            finish()
        }

        // MARK: - Steps

        mutating func step() {
            bench.now = bench.now.advanced(by: .seconds(Int64(random.below(20))))
            switch random.below(26) {
            case 0, 1: attach()
            case 2: detach()
            case 3...6: prompt()
            case 7: bench.send(.guide(.init(text: "g\(random.below(100))")), from: someone())
            case 8...12: agentSpeaks()
            case 13: agentAsks()
            case 14, 15: answer()
            case 16: endTurn()
            case 17: cancel()
            case 18: crash()
            case 19:
                bench.send(.slashCommand(.init(command: random.below(2) == 0 ? "/clear" : "/compact")), from: someone())
            case 20, 21: bench.handle(.commandEnded(isDone: random.below(2) == 0))
            case 22: bench.send(.switchModel(.init(provider: "p", model: "m")), from: someone())
            case 23, 24: lease()
            default: loseAStep()
            }
        }

        mutating func attach() {
            let isNative = random.below(3) > 0
            clients.append(
                bench.attach(
                    isNative ? .native : .stock, kind: isNative ? .cli : .mobile, device: UInt8(1 + random.below(3))))
        }

        mutating func detach() {
            guard !clients.isEmpty else { return }
            bench.detach(clients.remove(at: Int(random.below(UInt64(clients.count)))))
        }

        mutating func someone() -> ClientID {
            if clients.isEmpty { attach() }
            return clients[Int(random.below(UInt64(clients.count)))]
        }

        mutating func prompt() {
            let client = someone()
            bench.send(.prompt(.init(text: "p\(random.below(1_000))")), from: client)
        }

        mutating func lease() {
            let act: LeaseAct = [.takeIfFree, .takeOver, .release][Int(random.below(3))]
            bench.send(.lease(.init(kind: .input, target: CoreBench.session.text, act: act)), from: someone())
            bench.handle(.deadline)
        }

        mutating func agentSpeaks() {
            guard bench.core.record.turn != nil else { return }
            if let part = openPart, random.below(3) > 0 {
                bench.emit(.provider(.partDelta(.init(partID: part.id, delta: "w\(random.below(100)) "))))
                return
            }
            let part = Part(
                id: PartID(bench.ids.next(milliseconds: 1)), messageID: MessageID(bench.ids.next(milliseconds: 1)),
                session: ULID(high: 0, low: 0), content: .text(.init(text: "")))
            openPart = part
            bench.emit(.provider(.partStart(part)))
        }

        mutating func agentAsks() {
            guard bench.core.record.turn != nil else { return }
            bench.call(.permission(.init(toolName: "bash", input: [:], call: "c", sensitivity: .dangerous)))
        }

        mutating func answer() {
            guard let entry = bench.core.desk.open.first else { return }
            bench.answer(entry.request, .permission(random.below(2) == 0 ? .allowOnce : .deny), from: someone())
        }

        mutating func endTurn() {
            guard bench.core.record.turn != nil else { return }
            openPart = nil
            bench.endTurn(bench.core.record.turn?.isCancelling == true ? .cancelled : .completed)
        }

        mutating func cancel() {
            if let turn = lastPrompt, random.below(2) == 0 {
                return _ = bench.send(.cancel(.init(turnID: turn)), from: someone())
            }
            guard let turn = bench.core.record.turn else { return }
            bench.send(.cancel(.init(turnID: turn.id)), from: someone())
        }

        /// The messages that show each prompt's words.
        var said: [TurnID: [MessageID]] {
            var said: [TurnID: [MessageID]] = [:]
            for frame in bench.storedEvents {
                guard case .userMessage(let message) = frame.message, let turn = message.turnID,
                    let id = message.messageID
                else { continue }
                said[turn, default: []].append(id)
            }
            return said
        }

        mutating func crash() {
            if random.below(2) == 0 { bench.handle(.shutDown) }
            harvest()
            let isSuspect = random.below(3) == 0
            let before = bench.core.record.epoch
            bench.crash(isSuspect: isSuspect)
            let epoch = bench.core.record.epoch
            if isSuspect {
                #expect(epochs.insert(epoch).inserted, "seed \(seed): an epoch is used again")
            } else {
                #expect(epoch == before, "seed \(seed): another epoch")
            }
            (clients, openPart) = ([], nil)
        }

        mutating func loseAStep() {
            harvest()
            let client = someone()
            harvest()
            guard let sender = bench.clients[client] else { return }
            bench.lose(
                .request(
                    ClientRequest(
                        .prompt(.init(text: "lost")), client: client, link: sender.link, by: sender.by,
                        operation: nil)))
            (clients, openPart) = ([], nil)
        }

        // MARK: - Laws

        mutating func harvest() {
            for client in clients {
                for frame in bench.takeFrames(client) {
                    guard let sequence = frame.sequence else { continue }
                    #expect(frame.message == bench.storedEvent(sequence), "seed \(seed): event \(sequence) lost")
                }
            }
            for receipt in bench.takeReceipts() {
                if let turn = receipt.turnID, receipt.state == .stored {
                    accepted.insert(receipt.operation)
                    prompts.insert(turn)
                    lastPrompt = turn
                }
                if receipt.turnID == nil, receipt.state == .stored { stored.insert(receipt.operation) }
                if receipt.state == .done || receipt.state == .refused { ended.insert(receipt.operation) }
                if let result = receipt.result { results[receipt.operation, default: []].append(result) }
            }
        }

        mutating func check() {
            harvest()
            let begun = bench.startedTurns.map(\.turn)
            #expect(Set(begun).count == begun.count, "seed \(seed): a turn began twice")
        }

        mutating func drain() {
            var rounds = 0
            while bench.core.needsRecovery, rounds < 200 {
                endTurn()
                bench.handle(.commandEnded(isDone: true))
                rounds += 1
            }
        }

        mutating func finish() {
            #expect(!bench.core.needsRecovery, "seed \(seed): work is left")
            #expect(stored.isSubset(of: ended), "seed \(seed): work without an end")
            for operation in accepted {
                #expect(results[operation]?.count == 1, "seed \(seed): \(results[operation] ?? []) for a prompt")
            }
            judgeWithdrawn()
        }

        /// A prompt that never began says so in the journal, and no other one does.
        mutating func judgeWithdrawn() {
            let begun = Set(bench.startedTurns.map(\.turn))
            let noted = Set(
                bench.storedEvents.compactMap { frame -> MessageID? in
                    guard case .partUpdated(let update) = frame.message,
                        update.part.content.text?.text.contains("\n(not run: ") == true
                    else { return nil }
                    return update.part.messageID
                })
            for (turn, messages) in said where prompts.contains(turn) {
                #expect(
                    begun.contains(turn) != messages.contains(where: noted.contains),
                    "seed \(seed): \(turn) \(begun.contains(turn) ? "began" : "never began, and nothing says so")")
            }
        }
    }
}
