import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

// One attempt for each session: who joins it, who withdraws it, what becomes of it when the daemon refuses, is silent or is lost.

@Suite("Attaching to a session, and attaching again", .timeLimit(.minutes(1)))
struct AttachTests {
    /// A session that was shown up to its fourth event, on a new link that asks for it again.
    private func beingAttachedAgain(
        _ stage: Stage, _ feed: Feed<ClientEvent>
    ) async throws -> (FakeLink, FakeChannel) {
        _ = try await stage.attached(feed, id, epoch: epoch, head: 4)
        let link = try await stage.reconnect(feed)
        return (link, try await link.askedChannel())
    }

    private func sendReplay(on channel: FakeChannel) async throws {
        let ready = DaemonMessage.SessionReady(sessionID: id, epoch: epoch, resume: .replay)
        try await channel.send(.sessionReady(ready))
    }

    @Test("a session that is left while it is being attached again stays left")
    func leftWhileAttachedAgain() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, again) = try await beingAttachedAgain(stage, feed)
            await stage.supervisor.detach(id)
            try await sendReplay(on: again)
            // The daemon hears that nobody wants it.
            #expect(try await again.channel.receive() == nil)
            #expect(await stage.supervisor.view.attached.isEmpty)
        }
    }

    @Test("a session that is left while it is attached the first time stays left, and the attach says so")
    func leftWhileAttached() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let failure = stage.failureOfAttach(id)
            let channel = try await link.askedChannel()
            await stage.supervisor.detach(id)
            try await sendReplay(on: channel)
            #expect(await failure?.code == .unreachable)
            #expect(try await channel.channel.receive() == nil)
            #expect(await stage.supervisor.view.attached.isEmpty)
        }
    }

    @Test("what a session is told that was left and is wanted anew comes on the new channel alone")
    func leftAndWantedAnew() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (link, former) = try await beingAttachedAgain(stage, feed)
            await stage.supervisor.detach(id)
            async let attached: Void = stage.supervisor.attach(id)
            let channel = try await link.channel()
            guard case .attachSession(let attach) = try await channel.receive().message else {
                throw FakeDaemonError("no attach")
            }
            #expect(attach.afterSequence == nil)
            try await sendReplay(on: former)
            #expect(try await former.channel.receive() == nil)
            try await channel.attach(id, epoch: epoch, head: 4)
            try await attached
            #expect(await stage.supervisor.view.attached[id]?.lastSequence == SequenceNumber(4))
        }
    }

    private func lost(_ code: ErrorCode, _ message: String) -> AttachedSession.Phase {
        .lost(ClientError(code, message))
    }

    /// A ready link with an attach on its way, and how that fails.
    private func beingAttached(
        _ stage: Stage, _ feed: Feed<ClientEvent>, _ body: (FakeLink, FakeChannel) async throws -> Void
    ) async throws -> ClientError? {
        let link = try await stage.connected(feed)
        async let failure = stage.failureOfAttach(id)
        let channel = try await link.askedChannel()
        try await body(link, channel)
        return await failure
    }

    /// Nobody waits for the sending any more, but for the answer.
    private func passDeadline(_ stage: Stage) async {
        while await !stage.supervisor.attempts.isAsked(id) { await Task.yield() }
        let limit = ClientDeadlines().attach
        await stage.clock.sleeper(for: limit)
        stage.clock.advance(by: limit)
    }

    @Test("a session that cannot be attached again says why, and is tried again on the same link")
    func attachedAgainLater() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (link, refused) = try await beingAttachedAgain(stage, feed)
            try await refused.send(.error(DaemonMessage.ErrorReply(message: "too much to do", code: .busy)))
            try await feed.sessionPhase(lost(.busy, "too much to do"))
            await stage.clock.sleeper(for: .seconds(1))
            stage.clock.advance(by: .seconds(1))
            let again = try await link.channel()
            guard case .attachSession(let attach) = try await again.receive().message else {
                throw FakeDaemonError("no attach")
            }
            #expect(attach.afterSequence == SequenceNumber(4))
            try await again.attach(id, epoch: epoch, head: 4)
            try await feed.sessionPhase(.live)
        }
    }

    @Test("a session that the daemon does not show after a loss is asked for anew, and its channel is ended")
    func notShownAgain() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (link, silent) = try await beingAttachedAgain(stage, feed)
            await passDeadline(stage)
            #expect(try await silent.channel.receive() == nil)
            await stage.clock.sleeper(for: .seconds(1))
            #expect(
                await stage.supervisor.view.attached[id]?.phase
                    == lost(.timedOut, "the daemon did not show the session in 30 s"))
            stage.clock.advance(by: .seconds(1))
            let again = try await link.askedChannel()
            try await again.attach(id, epoch: epoch, head: 4)
            try await feed.sessionPhase(.live)
        }
    }

    @Test("however many sessions are attached again, what the daemon says meanwhile is heard")
    func manyAttachedAgain() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            let sessions = try (0..<70).map { try #require(SessionID("sess_m\($0)")) }
            for session in sessions {
                async let attached: Void = stage.supervisor.attach(session)
                let channel = try await link.askedChannel()
                try await channel.attach(session, epoch: epoch)
                try await attached
            }
            let next = try await stage.reconnect(feed)
            // Nobody answers the sessions.
            for _ in sessions { _ = try await next.channel() }
            async let pinged: Void = stage.supervisor.ping()
            _ = try await next.control.receive()
            try await next.control.send(.daemonState(DaemonMessage.DaemonState(isSaving: false, reason: "full")))
            while await stage.supervisor.view.isSaving { await Task.yield() }
            await stage.supervisor.stop()
            try? await pinged
        }
    }

    @Test("who attaches to a session that is being attached waits for that one channel")
    func attachedByTwo() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let failure = try await beingAttached(stage, feed) { link, channel in
                async let second = stage.failureOfAttach(id)
                while await stage.supervisor.attempts.waiting(for: id) < 2 { await Task.yield() }
                try await channel.attach(id, epoch: epoch)
                #expect(await second == nil)
                let other = try #require(SessionID("sess_2"))
                async let third: Void = stage.supervisor.attach(other)
                let next = try await link.channel()
                guard case .attachSession(let attach) = try await next.receive().message else {
                    throw FakeDaemonError("no attach")
                }
                #expect(attach.sessionID == other)
                try await next.attach(other, epoch: epoch)
                try await third
            }
            #expect(failure == nil)
        }
    }

    @Test(
        "a session whose attach timed out does not come back, whenever the daemon shows it", arguments: [false, true])
    func timedOut(whileShown: Bool) async throws {
        let stage = Stage()
        try await stage.run { feed in
            let failure = try await beingAttached(stage, feed) { _, channel in
                if whileShown {
                    try await sendReplay(on: channel)
                    try await feed.sessionPhase(.replaying)
                }
                await passDeadline(stage)
                #expect(try await channel.channel.receive() == nil)
                try await channel.attach(id, epoch: epoch)
            }
            #expect(failure?.code == .timedOut)
            await stage.supervisor.expectNothingAttached()
        }
    }

    @Test("an attach that fails leaves there what an earlier one showed")
    func failedAttachKeeps() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await beingAttachedAgain(stage, feed)
            async let failure = stage.failureOfAttach(id)
            while await stage.supervisor.attempts.waiting(for: id) < 2 { await Task.yield() }
            try await channel.send(.error(DaemonMessage.ErrorReply(message: "too much to do", code: .busy)))
            #expect(await failure?.code == .busy)
            #expect(await stage.supervisor.view.attached[id]?.lastSequence == SequenceNumber(4))
        }
    }

    @Test("an attach that is cut off is unreachable: it changes nothing, so that nothing is unknown")
    func cutOff() async throws {
        for applicationProtocol in ApplicationProtocol.allCases {
            let stage = Stage(protocols: [applicationProtocol])
            try await stage.run { feed in
                let link = try await stage.connected(feed)
                async let failure = stage.failureOfAttach(id)
                _ = link.native ? try await link.channel().receive() : try await link.control.receive()
                stage.daemon.breakLinks()
                #expect(await failure?.code == .unreachable)
            }
        }
    }

    @Test("a session that was being attached again when the link was lost anew says that it is lost")
    func lostTwice() async throws {
        let stage = Stage()
        try await stage.run { feed in
            _ = try await beingAttachedAgain(stage, feed)
            stage.daemon.breakLinks()
            try await feed.phase { if case .waiting = $0 { true } else { false } }
            guard case .lost = await stage.supervisor.view.attached[id]?.phase else {
                throw FakeDaemonError("it is not lost")
            }
        }
    }
}
