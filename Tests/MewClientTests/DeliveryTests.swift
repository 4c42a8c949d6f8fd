import MewBase
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

// What the client may say of something whose receipt did not come. The law of all of these: "it was not done" only when it
// cannot be done any more.

@Suite("What is said of an operation without a receipt", .timeLimit(.minutes(1)))
struct DeliveryTests {
    @Test("a question that overtakes the prompt does not end it: what is being sent is not asked about")
    func questionsOvertake() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (link, channel) = try await stage.attached(feed, id, epoch: epoch)
            let first = try await stage.supervisor.prompt("one", in: id)
            _ = try await channel.receive()
            try await channel.receipt(first, .stored)
            _ = try await feed.operation { $0.state == .stored(nil) }
            let second = try await stage.supervisor.prompt("two", in: id)
            try await channel.send(
                .sessionActivityChanged(
                    DaemonMessage.SessionActivityChanged(sessionID: id, activity: .idle)), session: id, seq: 1)
            // The daemon reads control first: the second prompt has not been seen there.
            guard case .receiptQuery(let query) = try await link.control.receive().message else {
                throw FakeDaemonError("no query")
            }
            #expect(query.operations == [first])
            #expect(!query.settle)
            // Even a daemon that volunteers it does not make it so.
            try await link.control.receipt(second, .absent)
            try await link.control.receipt(first, .done, result: .completed)
            _ = try await feed.operation { $0.id == first && $0.isOver }
            #expect(await stage.supervisor.view.operations[second]?.state == .sending)
            #expect(try await channel.receive().operation == second)
        }
    }

    @Test("receipts that a gap swallowed are asked for when the session is live again")
    func gapSwallows() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (link, channel) = try await stage.attached(feed, id, epoch: epoch)
            let operation = try await stage.supervisor.prompt("one", in: id)
            _ = try await channel.receive()
            try await channel.receipt(operation, .stored)
            _ = try await feed.operation { $0.state == .stored(nil) }
            try await channel.send(.gap(DaemonMessage.Gap(sessionID: id, afterSequence: .zero)), session: id)
            guard case .resumeSession = try await channel.receive().message else {
                throw FakeDaemonError("no resume")
            }
            try await channel.send(.caughtUp(DaemonMessage.CaughtUp(sessionID: id, sequence: .zero)), session: id)
            let asked = try await link.control.receive()
            guard case .receiptQuery(let query) = asked.message else { throw FakeDaemonError("no query") }
            #expect(query.operations == [operation] && !query.settle)
            try await link.control.receipt(operation, .done, result: .completed, ref: asked.ref)
            _ = try await feed.operation { $0.id == operation && $0.isOver }
        }
    }

    @Test("an absence whose query did not settle leaves it unknown; the one that settles ends it")
    func lateOriginal() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (link, channel) = try await stage.attached(feed, id, epoch: epoch)
            let operation = try await stage.supervisor.prompt("one", in: id)
            // The channel goes while the prompt may be in it still: left by the person, then by the daemon.
            await stage.supervisor.detach(id)
            _ = try await feed.operation { $0.id == operation && $0.state == .unknown }
            let gentle = try await link.control.receive()
            guard case .receiptQuery(let query) = gentle.message else { throw FakeDaemonError("no query") }
            #expect(query.operations == [operation] && !query.settle)
            try await link.control.receipt(operation, .absent, ref: gentle.ref)
            // The original arrives now, behind the answer.
            #expect(try await channel.receive().operation == operation)
            try await link.control.receipt(operation, .stored)
            _ = try await feed.operation { $0.id == operation && $0.state == .stored(nil) }
        }
    }

    @Test("a prompt on a channel that the daemon ended is unknown, and asked about at once")
    func channelEnded() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (link, channel) = try await stage.attached(feed, id, epoch: epoch)
            let operation = try await stage.supervisor.prompt("one", in: id)
            await channel.channel.reset(code: 1)
            _ = try await feed.operation { $0.id == operation && $0.state == .unknown }
            let settling = try await link.control.receive()
            guard case .receiptQuery(let query) = settling.message else { throw FakeDaemonError("no query") }
            #expect(query.operations == [operation] && query.settle)
            try await link.control.receipt(operation, .absent, ref: settling.ref)
            _ = try await feed.operation { $0.id == operation && $0.state == .absent }
            #expect(await stage.store.records().operations.isEmpty)
        }
    }

    private func failureOfNewSession(_ stage: Stage) async -> ClientError? {
        do throws(ClientError) {
            _ = try await stage.supervisor.newSession(cwd: nil)
            return nil
        } catch {
            return error
        }
    }

    @Test("a new session that was asked for and not shown in time may have been made", arguments: [true, false])
    func newSession(isNative: Bool) async throws {
        let stage = Stage(protocols: [isNative ? .native : .stock])
        try await stage.run { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            async let failure = failureOfNewSession(stage)
            let channel = isNative ? try await link.channel() : link.control
            guard case .newSession = try await channel.receive().message else { throw FakeDaemonError("no session") }
            // When this is skipped, the message has been sent, and the wait for the session begins.
            try await channel.send(text: "{\"type\":\"from_the_future\"}")
            while await stage.supervisor.view.skippedMessages == 0 { await Task.yield() }
            let limit = ClientDeadlines().attach
            await stage.clock.sleeper(for: limit)
            stage.clock.advance(by: limit)
            #expect(await failure?.code == .deliveryUnknown)
            #expect(await stage.store.records().operations.map(\.state) == [.unknown])
        }
    }

    @Test("a new session for which no channel could be opened was certainly not made")
    func noChannel() async throws {
        let stage = Stage(opensChannels: 1)
        try await stage.run { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            async let failure = failureOfNewSession(stage)
            let limit = ClientDeadlines().attach
            await stage.clock.sleeper(for: limit)
            stage.clock.advance(by: limit)
            #expect(await failure?.code == .timedOut)
            #expect(await stage.store.records().operations.isEmpty)
        }
    }

    @Test("what was broken off while it was being sent may have been done: the rest of the message goes out behind us")
    func brokenOff() async throws {
        let stage = Stage()
        let environment = stage.environment(CompletingDialer(dialer: stage.device))
        let supervisor = DaemonSupervisor(record: stage.record, environment: environment)
        try await stage.run(supervisor) { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            let rename = ClientMessage.renameSession(ClientMessage.RenameSession(sessionID: id, title: "new"))
            let error = await #expect(throws: ClientError.self) { try await supervisor.change(rename) }
            #expect(error?.code == .deliveryUnknown)
            #expect(try await link.control.receive().message == rename, "it was done")
            #expect(await stage.store.records().operations.map(\.state) == [.unknown])
        }
    }

    @Test("whoever waits for an operation hears of its end when that is kept: a program may end then")
    func keptBeforeTold() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (link, _) = try await stage.attached(feed, id, epoch: epoch)
            let rename = ClientMessage.renameSession(ClientMessage.RenameSession(sessionID: id, title: "new"))
            let isOver = Mutex(false)
            async let change: Void = {
                try await stage.supervisor.change(rename)
                isOver.withLock { $0 = true }
            }()
            let operation = try #require(try await link.control.receive().operation)
            await stage.store.hold()
            try await link.control.receipt(operation, .done)
            while await stage.store.waitingCount == 0 { await Task.yield() }
            // Who begins to wait now is told no sooner either.
            let settled = await stage.supervisor.view.operations[operation] == nil
            async let late: Void = stage.supervisor.settle(operation)
            for _ in 0..<100 { await Task.yield() }
            #expect(settled && !isOver.withLock { $0 })
            await stage.store.release()
            try await change
            try await late
            #expect(await stage.store.records().operations.isEmpty)
        }
    }

    private func ask(_ channel: FakeChannel, _ feed: Feed<ClientEvent>, _ stage: Stage) async throws -> PendingRequest {
        let content = Request.Content.permission(toolName: "bash", input: ["command": "ls"])
        let request = Request(
            id: RequestID(ULID(high: 4, low: 4)), content: content, shown: content.shownText)
        try await channel.send(.request(request), session: id, seq: 1)
        _ = try await feed.sessionEvent { $0.frame.message.kind == .permissionRequest }
        return try #require(await stage.supervisor.view.attached[id]?.requests.first)
    }

    @Test("an answer is shown as sending before it is sent, so that no verdict can come first")
    func answering() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await stage.attached(feed, id, epoch: epoch)
            let pending = try await ask(channel, feed, stage)
            await stage.supervisor.detachChannel(of: id)
            await #expect(throws: ClientError.self) {
                try await stage.supervisor.answer(pending, .permission(.deny), in: id)
            }
            let begun = try await feed.operation { $0.kind == .answer }
            #expect(begun.state == .sending)
            _ = try await feed.operation { $0.id == begun.id && $0.state != .sending }
            let request = await stage.supervisor.view.attached[id]?.requests.first
            #expect(request?.answering == .open, "it can be answered again")
        }
    }

    @Test("an answer that is refused without a verdict can be given again")
    func refusedAnswer() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await stage.attached(feed, id, epoch: epoch)
            let pending = try await ask(channel, feed, stage)
            let operation = try await stage.supervisor.answer(pending, .permission(.deny), in: id)
            #expect(await stage.supervisor.view.attached[id]?.requests.first?.answering == .sending(operation))
            try await channel.receipt(operation, .refused, code: .notSaved)
            _ = try await feed.operation { $0.id == operation && $0.isOver }
            #expect(await stage.supervisor.view.attached[id]?.requests.first?.answering == .open)
        }
    }

    @Test("what an operation has passed while it was being kept is not told any more")
    func toldInOrder() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (link, channel) = try await stage.attached(feed, id, epoch: epoch)
            let operation = try await stage.supervisor.prompt("hi", in: id)
            _ = try await channel.receive()
            await stage.store.hold()
            try await channel.receipt(operation, .stored)
            while await stage.supervisor.view.operations[operation]?.state != .stored(nil) { await Task.yield() }
            try await link.control.receipt(operation, .done, result: .completed)
            while await stage.supervisor.view.operations[operation] != nil { await Task.yield() }
            await stage.store.release()
            let next = try await feed.operation { $0.id == operation && $0.state != .sending }
            #expect(next.state == .settled(.completed))
        }
    }
}
