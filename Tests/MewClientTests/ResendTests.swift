import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

@Suite("Sending again", .timeLimit(.minutes(1)))
struct ResendTests {
    /// A prompt that is unknown, with its session attached again; the query about it is not answered.
    private func lost(
        _ stage: Stage, _ feed: Feed<ClientEvent>
    ) async throws -> (MewClient.Operation, [UInt8], FakeLink, FakeChannel) {
        let (_, channel) = try await stage.attached(feed, id, epoch: epoch)
        let prompt = try await stage.supervisor.prompt("hi", in: id)
        let original = try #require(try await channel.channel.receive())
        stage.daemon.breakLinks()
        let operation = try await feed.operation { $0.id == prompt && $0.state == .unknown }
        try await feed.phase { if case .waiting = $0 { true } else { false } }
        await stage.supervisor.triggered()
        let link = try await stage.accept()
        try await link.welcome()
        let again = try await link.channel()
        _ = try await again.receive()
        try await again.attach(id, epoch: epoch)
        try await feed.sessionPhase(.live)
        _ = try await link.control.receive()
        return (operation, original, link, again)
    }

    @Test("an unknown prompt goes out again under its own ID, byte for byte; nothing else does")
    func resends() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (operation, original, _, channel) = try await lost(stage, feed)
            async let result = stage.supervisor.resend(operation)
            let bytes = try await channel.channel.receive()
            #expect(bytes == original)
            _ = try await feed.operation { $0.id == operation.id && $0.state == .sending }
            try await channel.receipt(operation.id, .stored)
            let stored = try await result
            #expect(stored.state == .stored(nil))
            let again = await #expect(throws: ClientError.self) { try await stage.supervisor.resend(stored) }
            #expect(again?.code == .busy, "the daemon has it")
        }
    }

    @Test("one that was settled meanwhile is refused as settled: it never ran")
    func settled() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (operation, _, _, channel) = try await lost(stage, feed)
            async let result = stage.supervisor.resend(operation)
            _ = try await channel.receive()
            try await channel.receipt(operation.id, .refused, code: .opSettled)
            guard case .refused(.opSettled, _) = try await result.state else { throw FakeDaemonError("not refused") }
        }
    }

    @Test("an equal prompt is refused until the daemon has said how it stands with the unknown one, another one is not")
    func blocked() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (operation, _, link, channel) = try await lost(stage, feed)
            let error = await #expect(throws: ClientError.self) { try await stage.supervisor.prompt("hi", in: id) }
            #expect(error?.code == .busy)
            #expect(try await stage.supervisor.unknownPrompt("hi", in: id)?.id == operation.id)
            let other = try await stage.supervisor.prompt("ho", in: id)
            #expect(try await channel.receive().operation == other)
            async let answer = stage.supervisor.check([operation], settle: true)
            let request = try await link.control.receive()
            try await link.control.receipt(operation.id, .absent, ref: request.ref)
            #expect(try await answer.map(\.state) == [.absent])
            let again = try await stage.supervisor.prompt("hi", in: id)
            #expect(try await channel.receive().operation == again)
        }
    }

    @Test("what is kept of it last is the newest, in whatever order the records are changed")
    func keptInOrder() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (operation, _, _, _) = try await lost(stage, feed)
            await stage.store.hold()
            async let resent = stage.supervisor.resend(operation)
            while await stage.store.waitingCount < 1 { await Task.yield() }
            stage.daemon.breakLinks()
            while await stage.store.waitingCount < 2 { await Task.yield() }
            #expect(await stage.supervisor.view.operations[operation.id]?.state == .unknown)
            // That it is unknown is kept before that it is being sent; then comes the proof of the link.
            await stage.store.releaseLast()
            while await stage.store.waitingCount < 2 { await Task.yield() }
            await stage.store.release()
            _ = try? await resent
            #expect(await stage.store.records().operations.map(\.state) == [.unknown])
        }
    }

    @Test("equal words are refused as well when the records could not be told that the first are unknown")
    func notKept() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await stage.attached(feed, id, epoch: epoch)
            let prompt = try await stage.supervisor.prompt("hi", in: id)
            _ = try await channel.receive()
            await stage.store.fail(with: .notSaved(path: "client.json", cause: "no space"))
            await channel.channel.reset(code: 1)
            _ = try await feed.operation { $0.id == prompt && $0.state == .unknown }
            await stage.store.fail(with: nil)
            #expect(await stage.store.records().operations.map(\.state) == [.sending])
            let error = await #expect(throws: ClientError.self) { try await stage.supervisor.prompt("hi", in: id) }
            #expect(error?.code == .busy)
            #expect(try await stage.supervisor.unknownPrompt("hi", in: id)?.id == prompt)
        }
    }
}
