import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))
private let list = HistoryID(ULID(high: 3, low: 3))

// A daemon sets room aside for a page before it reads it, and answers `busy` while it has none for this device. Law: the page is
// asked for again by one owner, after waits that grow, and not for ever.

@Suite("Pages at a daemon that has no room for them", .timeLimit(.minutes(1)))
struct PageTests {
    /// A session with older pages.
    private func attached(_ stage: Stage, _ feed: Feed<ClientEvent>) async throws -> (FakeLink, FakeChannel) {
        let link = try await stage.accept()
        try await link.welcome()
        try await feed.ready()
        async let attached: Void = stage.supervisor.attach(id)
        let channel = try await link.channel()
        _ = try await channel.receive()
        try await channel.send(
            .sessionReady(DaemonMessage.SessionReady(sessionID: id, epoch: epoch, resume: .snapshot)))
        try await channel.send(Frames.page(asOf: 5, messages: [5], cursor: 4, list: list).message)
        try await channel.send(.caughtUp(DaemonMessage.CaughtUp(sessionID: id, sequence: SequenceNumber(5))))
        try await attached
        return (link, channel)
    }

    private func refuse(_ channel: FakeChannel) async throws {
        let request = try await channel.receive()
        #expect(request.message.kind == .loadSessionHistory)
        try await channel.send(.error(.init(message: "too much waits", code: .busy)), ref: request.ref)
    }

    private func older(_ stage: Stage) async -> Result<Bool, ClientError> {
        do throws(ClientError) {
            return .success(try await stage.supervisor.loadOlder(in: id))
        } catch {
            return .failure(error)
        }
    }

    @Test("it is asked for again after growing waits, and shown once when there is room")
    func again() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            async let older = older(stage)
            for wait in PagePatience.waits.prefix(3) {
                try await refuse(channel)
                await stage.clock.sleeper(for: wait)
                stage.clock.advance(by: wait)
            }
            let request = try await channel.receive()
            try await channel.send(
                Frames.page(asOf: nil, messages: [3], cursor: nil, list: list, replaces: false).message,
                ref: request.ref)
            #expect(await older == .success(true))
            let shown = await stage.supervisor.view.attached[id]?.transcript.messages.map(\.sequence)
            #expect(shown == [3, 5].map { SequenceNumber($0) })
        }
    }

    @Test("after the last wait it ends with what the daemon says")
    func notForEver() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            async let older = older(stage)
            for wait in PagePatience.waits {
                try await refuse(channel)
                await stage.clock.sleeper(for: wait)
                stage.clock.advance(by: wait)
            }
            try await refuse(channel)
            #expect(await older == .failure(ClientError(.busy, "too much waits")))
            #expect(await stage.supervisor.view.attached[id]?.historyCursor == 4, "it can be asked for another time")
        }
    }

    @Test("one at a time: the second page is not asked for while the first one waits for room")
    func oneOwner() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            async let first = older(stage)
            try await refuse(channel)
            await stage.clock.sleeper(for: PagePatience.waits[0])
            async let second = stage.supervisor.olderPage(in: id, before: 2, of: list)
            // Whatever else is said meanwhile comes first.
            let prompt = try await stage.supervisor.prompt("hi", in: id)
            #expect(try await channel.receive().operation == prompt)
            stage.clock.advance(by: PagePatience.waits[0])
            for before: UInt64 in [4, 2] {
                let request = try await channel.receive()
                let wanted = ClientMessage.LoadSessionHistory(sessionID: id, before: before, historyID: list)
                #expect(request.message == .loadSessionHistory(wanted))
                let page = Frames.page(
                    asOf: nil, messages: [before - 1], cursor: before - 2, list: list, replaces: false)
                try await channel.send(page.message, ref: request.ref)
            }
            #expect(await first == .success(true))
            #expect(try await second.nextCursor == 0)
        }
    }

    @Test("a link that is lost ends it, and the next page is asked for as before")
    func lost() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            async let older = older(stage)
            try await refuse(channel)
            await stage.clock.sleeper(for: PagePatience.waits[0])
            stage.daemon.breakLinks()
            try await feed.phase { if case .waiting = $0 { true } else { false } }
            stage.clock.advance(by: PagePatience.waits[0])
            guard case .failure(let error) = await older else { throw FakeDaemonError("a page without a link") }
            #expect(error.code == .unreachable)
        }
    }

    @Test("any other refusal is the answer")
    func otherRefusals() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed)
            async let older = older(stage)
            let request = try await channel.receive()
            try await channel.send(.error(.init(message: "no", code: .internal)), ref: request.ref)
            #expect(await older == .failure(ClientError(.internal, "no")))
        }
    }

    @Test("the waits are growing ones, and shorter in all than a person's patience")
    func patience() {
        var patience = PagePatience()
        var waits: [Duration] = []
        while let wait = patience.refused() { waits.append(wait) }
        #expect(waits == waits.sorted() && waits.reduce(.zero, +) < .seconds(12))
        #expect(patience.refused() == nil)
    }
}
