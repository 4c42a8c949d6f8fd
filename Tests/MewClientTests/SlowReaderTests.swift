import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

@Suite("Readers of events that are slow, or gone", .timeLimit(.minutes(1)))
struct SlowReaderTests {
    private func attached(
        _ stage: Stage, _ feed: Feed<ClientEvent>
    ) async throws -> (FakeLink, FakeChannel) {
        try await stage.attached(feed, id, epoch: epoch)
    }

    private func event(_ text: String) -> DaemonMessage { .errorEvent(DaemonMessage.ErrorEvent(message: text)) }

    @Test("what the reader of a full feed asks for does not wait for the reader")
    func fullFeed() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            let narrow = await stage.supervisor.subscribe(capacity: 1)
            for (number, text) in [(1, "one"), (2, "two")] as [(UInt64, String)] {
                try await channel.send(event(text), session: id, seq: number)
            }
            // The second one waits for room in the narrow feed now.
            _ = try await feed.sessionEvent { $0.frame.message == event("two") }
            let operation = try await stage.supervisor.prompt("go", in: id)
            #expect(try await channel.receive().operation == operation)
            #expect(try await narrow.sessionEvent { $0.frame.message == event("two") }.session == id)
        }
    }

    @Test("a reader that has left an unread feed behind does not keep the client from ending")
    func unreadFeed() async throws {
        let stage = Stage()
        try await stage.run { feed in
            _ = try await stage.connected(feed)
            _ = await stage.supervisor.subscribe(capacity: 1)
            stage.daemon.breakLinks()
            try await feed.phase { if case .waiting = $0 { true } else { false } }
        }
    }

    @Test("a reader that is slow misses nothing when the attempt that told it is replaced")
    func slowReader() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let slow = await stage.supervisor.subscribe(capacity: 1)
            // Told to `feed` and waiting for room in the slow one, which has `dialing`.
            try await feed.phase { if case .greeting = $0 { true } else { false } }
            await stage.supervisor.retry()
            try await slow.phase { if case .greeting = $0 { true } else { false } }
            try await slow.phase { if case .dialing = $0 { true } else { false } }
        }
    }
}
