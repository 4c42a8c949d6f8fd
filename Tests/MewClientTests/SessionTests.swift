import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

@Suite("Sessions over a link", .timeLimit(.minutes(1)))
struct SessionTests {
    private func attached(
        _ stage: Stage, _ feed: Feed<ClientEvent>, head: UInt64 = 0
    ) async throws -> (FakeLink, FakeChannel) {
        try await stage.attached(feed, id, epoch: epoch, head: head)
    }

    private func event(_ text: String) -> DaemonMessage { .errorEvent(DaemonMessage.ErrorEvent(message: text)) }

    @Test("after a loss the session goes on after the last event, and nothing is shown twice")
    func resumes() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed, head: 4)
            try await channel.send(event("five"), session: id, seq: 5)
            _ = try await feed.sessionEvent { $0.frame.message == event("five") }
            let link = try await stage.reconnect(feed)
            let again = try await link.channel()
            guard case .attachSession(let attach) = try await again.receive().message else {
                throw FakeDaemonError("no attach")
            }
            #expect(attach.afterSequence == SequenceNumber(5))
            #expect(attach.epoch == epoch)
            try await again.send(
                .sessionReady(DaemonMessage.SessionReady(sessionID: id, epoch: epoch, resume: .replay)))
            try await again.send(event("five"), session: id, seq: 5)
            try await again.send(event("six"), session: id, seq: 6)
            try await again.send(.caughtUp(DaemonMessage.CaughtUp(sessionID: id, sequence: SequenceNumber(6))))
            let next = try await feed.sessionEvent { $0.frame.message.kind == .errorEvent }
            #expect(next.frame.message == event("six"))
            #expect(next.isLive == false)
            try await feed.sessionPhase(.live)
        }
    }

    @Test("a gap is answered with resume_session on the same channel")
    func gap() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (_, channel) = try await attached(stage, feed, head: 2)
            try await channel.send(.gap(DaemonMessage.Gap(sessionID: id, afterSequence: SequenceNumber(9))))
            guard case .resumeSession(let resume) = try await channel.receive().message else {
                throw FakeDaemonError("no resume")
            }
            #expect(resume.afterSequence == SequenceNumber(2))
        }
    }

    @Test("a session that is unknown is a failed attach with its code, and leaves nothing behind")
    func unknownSession() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let failure = stage.failureOfAttach(id)
            let channel = try await link.askedChannel()
            try await channel.send(
                .error(DaemonMessage.ErrorReply(message: "there is no such session", code: .unknownSession)))
            #expect(await failure == ClientError(.unknownSession, "there is no such session"))
            #expect(await stage.supervisor.view.attached.isEmpty)
        }
    }

    @Test("a new session is attached under the ID the daemon gave it, and its operation settles")
    func newSession() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let made = stage.supervisor.newSession(cwd: "/src", agent: "shell")
            let channel = try await link.channel()
            let frame = try await channel.receive()
            #expect(
                frame.message
                    == .newSession(ClientMessage.NewSession(cwd: "/src", clientKind: .cli, agent: "shell")))
            let operation = try #require(frame.operation)
            try await channel.receipt(operation, .stored)
            try await channel.attach(id, epoch: epoch, resume: .new)
            #expect(try await made == id)
            try await channel.receipt(operation, .done)
            _ = try await feed.operation { $0.kind == .newSession && $0.isOver }
        }
    }

    @Test("a channel that the daemon ends is attached again over the same link, three times at most")
    func channelEnded() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (link, channel) = try await attached(stage, feed, head: 3)
            await channel.channel.finish()
            for _ in 0..<3 {
                let again = try await link.channel()
                guard case .attachSession(let attach) = try await again.receive().message else {
                    throw FakeDaemonError("no attach")
                }
                #expect(attach.afterSequence == SequenceNumber(3))
                try await again.send(
                    .sessionReady(DaemonMessage.SessionReady(sessionID: id, epoch: epoch, resume: .replay)))
                await again.channel.finish()
            }
            let lost = AttachedSession.Phase.lost(
                ClientError(.unreachable, "the daemon ended the channel of the session"))
            for _ in 0..<4 { try await feed.sessionPhase(lost) }
            #expect(await stage.supervisor.view.attached[id]?.phase == lost, "with the reason")
        }
    }

    @Test("a session says why it is lost: what the link says of itself")
    func reasonOfTheLoss() async throws {
        let stage = Stage()
        try await stage.run { feed in
            _ = try await attached(stage, feed)
            stage.daemon.breakLinks()
            var reason: ClientError?
            while reason == nil, let event = await feed.next() {
                if case .sessionPhase(id, .lost(let why)) = event { reason = why }
            }
            guard case .waiting(_, let trouble) = try await feed.phase({ $0.readyLink == nil }) else {
                throw FakeDaemonError("not waiting")
            }
            #expect(reason == ClientError(trouble))
        }
    }

    @Test("an older page goes before what is shown; at the start there is none to ask for")
    func olderPages() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let attached: Void = stage.supervisor.attach(id)
            let channel = try await link.askedChannel()
            let list = HistoryID(ULID(high: 3, low: 3))
            try await channel.send(
                .sessionReady(DaemonMessage.SessionReady(sessionID: id, epoch: epoch, resume: .snapshot)))
            try await channel.send(Frames.page(asOf: 5, messages: [5], cursor: 1, list: list).message)
            try await channel.send(.caughtUp(DaemonMessage.CaughtUp(sessionID: id, sequence: SequenceNumber(5))))
            try await attached
            async let older = stage.supervisor.loadOlder(in: id)
            let request = try await channel.receive()
            let wanted = ClientMessage.LoadSessionHistory(sessionID: id, before: 1, historyID: list)
            #expect(request.message == .loadSessionHistory(wanted))
            let page = Frames.page(asOf: nil, messages: [2, 3], list: list, replaces: false).message
            try await channel.send(page, ref: request.ref)
            #expect(try await older)
            let shown = await stage.supervisor.view.attached[id]?.transcript.messages.map(\.sequence)
            #expect(shown == [2, 3, 5].map { SequenceNumber($0) })
            #expect(try await stage.supervisor.loadOlder(in: id) == false)
        }
    }

    @Test("a daemon that allows no more channels lets an attach time out, and not before")
    func noChannel() async throws {
        let stage = Stage(opensChannels: 1)
        try await stage.run { feed in
            _ = try await stage.connected(feed)
            async let failure = stage.failureOfAttach(id)
            let limit = ClientDeadlines().attach
            await stage.clock.sleeper(for: limit)
            stage.clock.advance(by: limit)
            #expect(await failure?.code == .timedOut)
            #expect(await stage.supervisor.view.attached.isEmpty)
        }
    }

    @Test("a session that is attached already is not attached twice")
    func attachedTwice() async throws {
        for applicationProtocol in ApplicationProtocol.allCases {
            let stage = Stage(protocols: [applicationProtocol])
            try await stage.run { feed in
                let link = try await stage.connected(feed)
                async let made = stage.supervisor.newSession(cwd: nil)
                let channel = link.native ? try await link.channel() : link.control
                _ = try await channel.receive()
                try await channel.send(
                    .sessionReady(
                        DaemonMessage.SessionReady(sessionID: id, epoch: link.native ? epoch : nil, resume: .new)))
                if link.native {
                    try await channel.send(.caughtUp(DaemonMessage.CaughtUp(sessionID: id, sequence: .zero)))
                }
                #expect(try await made == id)
                try await stage.supervisor.attach(id)
            }
        }
    }
}
