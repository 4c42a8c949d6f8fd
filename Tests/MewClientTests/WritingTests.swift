import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

// What people write while other things happen. The store answers late, and not in the order in which it was asked.

@Suite("Writing and sending drafts", .timeLimit(.minutes(1)))
struct WritingTests {
    @Test("a draft is shown, outlives the program, and goes when the daemon has it")
    func drafts() async throws {
        let stage = Stage()
        try await stage.remember()
        try await stage.supervisor.write("hello", to: id)
        let supervisor = DaemonSupervisor(record: stage.record, environment: stage.environment)
        try await stage.run(supervisor) { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            #expect(await supervisor.view.drafts[id]?.text == "hello")
            async let attached: Void = supervisor.attach(id)
            let channel = try await link.channel()
            _ = try await channel.receive()
            try await channel.attach(id, epoch: epoch)
            try await attached
            let operation = try await supervisor.promptDraft(in: id)
            #expect(try await channel.receive().message == .prompt(ClientMessage.Prompt(text: "hello")))
            #expect(await supervisor.view.drafts[id] != nil, "it may get lost yet")
            try await channel.receipt(operation, .stored)
            _ = try await feed.operation { $0.id == operation && $0.state == .stored(nil) }
            #expect(await supervisor.view.drafts[id] == nil)
            #expect(await stage.store.records().drafts.all.isEmpty)
            await #expect(throws: ClientError.self) { try await supervisor.promptDraft(in: id) }
        }
    }

    private func failureOfSending(_ stage: Stage) async -> ClientError? {
        do throws(ClientError) {
            _ = try await stage.supervisor.promptDraft(in: id)
            return nil
        } catch {
            return error
        }
    }

    @Test("of two sends of one draft at the same time one is sent, and the other refused")
    func sentOnce() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await stage.attached(feed, id, epoch: epoch)
            try await stage.supervisor.write("hello", to: id)
            await stage.store.hold()
            async let one = failureOfSending(stage)
            async let two = failureOfSending(stage)
            while await stage.store.waitingCount < 2 { await Task.yield() }
            await stage.store.release()
            #expect(await [one, two].compactMap { $0?.code } == [.busy])
            let kept = await stage.store.records().operations
            #expect(kept.count == 1)
            #expect(try await channel.receive().operation == kept.first?.id)
            #expect(await failureOfSending(stage)?.code == .busy, "nor later, before the daemon has it")
        }
    }

    @Test("what was written last is shown, whichever answer of the records comes last")
    func newestIsShown() async throws {
        let stage = Stage()
        try await stage.run { _ in
            await stage.store.holdAnswers()
            async let first: Void = stage.supervisor.write("one", to: id)
            while await stage.store.unansweredCount < 1 { await Task.yield() }
            async let second: Void = stage.supervisor.write("two", to: id)
            while await stage.store.unansweredCount < 2 { await Task.yield() }
            await stage.store.answerLast()
            try await second
            #expect(await stage.supervisor.view.drafts[id]?.text == "two")
            await stage.store.answerAll()
            try await first
            #expect(await stage.supervisor.view.drafts[id]?.text == "two")
        }
    }

    @Test("a list that was read before the receipt, and is told after it, does not bring the draft back")
    func clearedStaysCleared() async throws {
        let (stage, other) = (Stage(), SessionID("sess_2")!)
        try await stage.run { feed in
            let (_, channel) = try await stage.attached(feed, id, epoch: epoch)
            try await stage.supervisor.write("hello", to: id)
            let operation = try await stage.supervisor.promptDraft(in: id)
            _ = try await channel.receive()
            await stage.store.holdAnswers()
            async let written: Void = stage.supervisor.write("x", to: other)
            while await stage.store.unansweredCount < 1 { await Task.yield() }
            try await channel.receipt(operation, .stored)
            while await stage.supervisor.view.drafts[id] != nil { await Task.yield() }
            await stage.store.answerAll()
            try await written
            #expect(await stage.supervisor.view.drafts.mapValues(\.text) == [other: "x"])
        }
    }

    @Test("what another program has changed is not sent as it was; it is shown, and can be sent then")
    func changedElsewhere() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await stage.attached(feed, id, epoch: epoch)
            try await stage.supervisor.write("hello", to: id)
            let node = stage.record.node
            try await stage.store.update { records in _ = records.drafts.write("hello again", to: id, of: node) }
            #expect(await failureOfSending(stage)?.code == .busy)
            #expect(await stage.supervisor.view.drafts[id]?.text == "hello again")
            #expect(await failureOfSending(stage) == nil)
            #expect(try await channel.receive().message == .prompt(ClientMessage.Prompt(text: "hello again")))
        }
    }
}
