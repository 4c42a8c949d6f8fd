import MewBase
import MewSession
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))
private let loss = ClientError(.unreachable, "lost")

extension AttachedSession {
    fileprivate mutating func take(_ frame: DaemonFrame, isNative: Bool) -> [Effect] {
        receive(frame, isNative: isNative, now: WallTime(milliseconds: 1))
    }
}

/// Frames of one session, written short.
enum Frames {
    static func ready(_ resume: ResumeKind?, head: UInt64 = 0, epoch: Epoch? = epoch) -> DaemonFrame {
        DaemonFrame(
            .sessionReady(
                DaemonMessage.SessionReady(
                    sessionID: id, epoch: epoch, headSequence: SequenceNumber(head), resume: resume)))
    }

    static func page(
        asOf sequence: UInt64?, messages: [UInt64] = [], cursor: UInt64? = nil, list: HistoryID? = nil,
        replaces: Bool = true, ref: String? = nil
    ) -> DaemonFrame {
        let messages = messages.map { number in
            Message(
                id: MessageID(ULID(high: 1, low: number)), session: ULID(high: 0, low: 0), role: .user, parts: [],
                time: MessageTime(created: WallTime(milliseconds: 1)), sequence: SequenceNumber(number))
        }
        return DaemonFrame(
            .sessionHistoryPage(
                DaemonMessage.SessionHistoryPage(
                    sessionID: id, messages: messages, nextCursor: cursor, replaces: replaces,
                    asOfSequence: sequence.map { SequenceNumber($0) }, historyID: list)), ref: ref)
    }

    static func prompt(_ sequence: UInt64, _ text: String) -> DaemonFrame {
        DaemonFrame(
            .userMessage(DaemonMessage.UserMessage(text: text, messageID: MessageID(ULID(high: 2, low: sequence)))),
            sequence: SequenceNumber(sequence))
    }

    static func caughtUp(_ sequence: UInt64) -> DaemonFrame {
        DaemonFrame(.caughtUp(DaemonMessage.CaughtUp(sessionID: id, sequence: SequenceNumber(sequence))))
    }

    static func event(_ sequence: UInt64?, _ text: String = "x") -> DaemonFrame {
        DaemonFrame(
            .errorEvent(DaemonMessage.ErrorEvent(message: text)), sequence: sequence.map { SequenceNumber($0) })
    }

    static func gap(after sequence: UInt64) -> DaemonFrame {
        DaemonFrame(.gap(DaemonMessage.Gap(sessionID: id, afterSequence: SequenceNumber(sequence))))
    }

    static func request(_ number: UInt64, command: String, seq: UInt64? = nil) -> DaemonFrame {
        let content = Request.Content.permission(toolName: "bash", input: ["command": .string(command)])
        return DaemonFrame(
            .request(Request(id: requestID(number), content: content, shown: content.shownText)),
            sequence: seq.map { SequenceNumber($0) })
    }

    static func requestID(_ number: UInt64) -> RequestID { RequestID(ULID(high: 9, low: number)) }

    static func resolved(_ number: UInt64) -> DaemonFrame {
        DaemonFrame(.requestResolved(DaemonMessage.RequestResolved(requestID: requestID(number))))
    }

    static func activity(_ state: SessionState) -> DaemonFrame {
        DaemonFrame(
            .sessionActivityChanged(DaemonMessage.SessionActivityChanged(sessionID: id, activity: state)))
    }
}

@Suite("An attached session")
struct AttachedSessionTests {
    /// A session that is live at event `sequence`.
    private func live(at sequence: UInt64) -> AttachedSession {
        var session = AttachedSession(id: id)
        for frame in [Frames.ready(.snapshot), Frames.page(asOf: sequence), Frames.caughtUp(sequence)] {
            _ = session.take(frame, isNative: true)
        }
        return session
    }

    @Test("a snapshot is live after caught_up, not before")
    func snapshot() {
        var session = AttachedSession(id: id)
        #expect(
            session.take(Frames.ready(.snapshot, head: 5), isNative: true)
                == [.phaseChanged(.replaying), .accept(Frames.ready(.snapshot, head: 5))])
        #expect(session.take(Frames.page(asOf: 5), isNative: true) == [.accept(Frames.page(asOf: 5))])
        #expect(session.phase == .replaying)
        #expect(
            session.take(Frames.caughtUp(5), isNative: true) == [.accept(Frames.caughtUp(5)), .phaseChanged(.live)])
        #expect(session.lastSequence == SequenceNumber(5))
    }

    @Test("events that were seen are dropped, the next one is taken, and frames without a number pass")
    func deduplicates() {
        var session = live(at: 5)
        #expect(session.take(Frames.event(5), isNative: true) == [])
        #expect(session.take(Frames.event(6), isNative: true) == [.accept(Frames.event(6))])
        #expect(session.take(Frames.event(6), isNative: true) == [])
        #expect(session.take(Frames.event(nil), isNative: true) == [.accept(Frames.event(nil))])
        #expect(session.lastSequence == SequenceNumber(6))
    }

    @Test("a hole is asked for once, however much arrives behind it")
    func hole() {
        var session = live(at: 5)
        #expect(
            session.take(Frames.event(7), isNative: true)
                == [.phaseChanged(.replaying), .resume(after: SequenceNumber(5))])
        #expect(session.take(Frames.event(8), isNative: true) == [])
        _ = session.take(Frames.ready(.replay, head: 8), isNative: true)
        for number: UInt64 in 6...8 {
            #expect(session.take(Frames.event(number), isNative: true) == [.accept(Frames.event(number))])
        }
        #expect(session.take(Frames.caughtUp(8), isNative: true).last == .phaseChanged(.live))
    }

    @Test("a gap resumes after the last event we have, not after the one the daemon sent last")
    func gap() {
        var session = live(at: 5)
        #expect(
            session.take(Frames.gap(after: 9), isNative: true)
                == [.phaseChanged(.replaying), .resume(after: SequenceNumber(5))])
    }

    @Test("a gap behind a page that stood for what is lost is asked for from nothing: the page has the messages only")
    func gapBehindPage() {
        var session = live(at: 5)
        _ = session.take(Frames.page(asOf: 9), isNative: true)
        #expect(
            session.take(Frames.gap(after: 7), isNative: true)
                == [.phaseChanged(.replaying), .resume(after: .zero)])
        #expect(session.shown.lastSequence == SequenceNumber(9), "what is shown stays until the snapshot is here")
        _ = session.take(Frames.ready(.snapshot, head: 12), isNative: true)
        _ = session.take(Frames.page(asOf: 12), isNative: true)
        #expect(session.take(Frames.caughtUp(12), isNative: true).last == .phaseChanged(.live))
        #expect(session.shown.lastSequence == SequenceNumber(12))
    }

    @Test("a caught_up beyond what arrived is not believed")
    func caughtUpTooFar() {
        var session = AttachedSession(id: id)
        _ = session.take(Frames.ready(.replay), isNative: true)
        #expect(session.take(Frames.caughtUp(1), isNative: true) == [.resume(after: .zero)])
        #expect(session.phase == .replaying)
    }

    @Test("another epoch starts the numbers anew; the same one goes on")
    func epochs() {
        var session = live(at: 5)
        _ = session.take(Frames.ready(.replay), isNative: true)
        #expect(session.lastSequence == SequenceNumber(5))
        _ = session.take(Frames.ready(.snapshot, epoch: Epoch(ULID(high: 2, low: 2))), isNative: true)
        #expect(session.lastSequence == .zero)
        _ = session.take(Frames.page(asOf: 3), isNative: true)
        #expect(session.lastSequence == SequenceNumber(3))
    }

    @Test("an older page changes nothing about where we are")
    func olderPage() {
        var session = live(at: 5)
        _ = session.take(Frames.page(asOf: 2, replaces: false), isNative: true)
        #expect(session.lastSequence == SequenceNumber(5))
    }

    @Test("a snapshot is shown in one step, when it is complete; until then, and after a loss, the last one stays")
    func staging() {
        var session = live(at: 1)
        _ = session.take(Frames.prompt(2, "old"), isNative: true)
        _ = session.take(Frames.request(1, command: "ls"), isNative: true)
        let before = session.shown.transcript.messages
        let frames = [
            Frames.ready(.snapshot, epoch: Epoch(ULID(high: 2, low: 2))), Frames.page(asOf: 7), Frames.prompt(8, "new"),
            Frames.request(2, command: "rm"),
        ]
        for frame in frames {
            _ = session.take(frame, isNative: true)
            #expect(session.shown.transcript.messages == before)
            #expect(session.requests.map(\.id) == [Frames.requestID(1)])
            #expect(session.shown.lastSequence == SequenceNumber(2))
        }
        #expect(session.lastSequence == SequenceNumber(8), "what is here, shown or not")
        var lost = session
        _ = lost.channelLost(loss)
        #expect(lost.phase == .lost(loss))
        #expect(lost.transcript.messages == before && lost.lastSequence == SequenceNumber(2) && lost.epoch == epoch)
        _ = session.take(Frames.caughtUp(8), isNative: true)
        #expect(session.transcript.messages.map(\.sequence) == [SequenceNumber(8)])
        #expect(session.requests.map(\.id) == [Frames.requestID(2)])
        #expect(session.shown.epoch == Epoch(ULID(high: 2, low: 2)))
    }

    @Test("a snapshot that is broken off by a gap is not completed by events: its open part has no number")
    func brokenSnapshot() {
        let other = Epoch(ULID(high: 2, low: 2))
        for (epoch, resumed): (Epoch, UInt64) in [(epoch, 1), (other, 0)] {
            var session = live(at: 1)
            _ = session.take(Frames.ready(.snapshot, epoch: epoch), isNative: true)
            _ = session.take(Frames.page(asOf: 7), isNative: true)
            let effects = session.take(Frames.gap(after: 7), isNative: true)
            #expect(effects == [.resume(after: SequenceNumber(resumed))])
            #expect(session.epoch == epoch)
        }
    }

    @Test("a replay is shown as it comes")
    func replay() {
        var session = live(at: 1)
        _ = session.channelLost(loss)
        _ = session.take(Frames.ready(.replay), isNative: true)
        _ = session.take(Frames.prompt(2, "new"), isNative: true)
        #expect(session.shown.transcript.messages.count == 1 && session.phase == .replaying)
    }

    @Test("an answer that is on its way stays so over a snapshot that has the same question, and not over another one")
    func answersOverSnapshots() {
        for (command, stays) in [("ls", true), ("rm", false)] {
            let operation = OperationID(ULID(high: 3, low: 3))
            var session = live(at: 0)
            _ = session.take(Frames.request(1, command: "ls"), isNative: true)
            session.answering(Frames.requestID(1), with: operation)
            for frame in [
                Frames.gap(after: 9), Frames.ready(.snapshot), Frames.page(asOf: 9),
                Frames.request(1, command: command),
                Frames.caughtUp(9),
            ] {
                _ = session.take(frame, isNative: true)
            }
            #expect(session.requests.map(\.answering) == [stays ? .sending(operation) : .open])
        }
    }

    @Test("an older page is taken once, when it was asked for, and only before the list it belongs to")
    func olderPages() {
        let (list, other) = (HistoryID(ULID(high: 5, low: 5)), HistoryID(ULID(high: 6, low: 6)))
        func session() -> AttachedSession {
            var session = AttachedSession(id: id)
            for frame in [
                Frames.ready(.snapshot), Frames.page(asOf: 5, messages: [5], cursor: 4, list: list), Frames.caughtUp(5),
            ] {
                _ = session.take(frame, isNative: true)
            }
            session.pageAsked(before: 4, ref: "r1")
            return session
        }
        func older(_ ref: String?, list: HistoryID) -> DaemonFrame {
            Frames.page(asOf: nil, messages: [3, 4], cursor: 2, list: list, replaces: false, ref: ref)
        }
        var taken = session()
        #expect(taken.take(older("r1", list: list), isNative: true).count == 1)
        #expect(taken.transcript.messages.map(\.sequence) == [3, 4, 5].map { SequenceNumber($0) })
        #expect(taken.historyCursor == 2)
        taken.pageAsked(before: 4, ref: "r2")
        for late in [older("r1", list: list), older("r2", list: list), older(nil, list: list)] {
            #expect(taken.take(late, isNative: true) == [], "it is here already")
        }
        var refused = session()
        #expect(refused.take(older("r9", list: list), isNative: true) == [], "nobody asked")
        #expect(refused.take(older("r1", list: other), isNative: true) == [], "of another list")
        var cleared = session()
        _ = cleared.take(DaemonFrame(.sessionCleared, sequence: SequenceNumber(6)), isNative: true)
        #expect(
            cleared.take(older("r1", list: list), isNative: true) == [], "it was under way when the list was cleared")
        #expect(cleared.transcript.messages.isEmpty)
    }

    @Test("every pending request is kept, in order, once")
    func requests() {
        var session = live(at: 0)
        for number: UInt64 in [1, 2, 3] {
            #expect(session.take(Frames.request(number, command: "ls"), isNative: true).count == 1)
        }
        #expect(session.take(Frames.request(2, command: "ls"), isNative: true) == [], "seen, and shown unchanged")
        #expect(session.requests.map(\.id) == [1, 2, 3].map(Frames.requestID))
        _ = session.take(Frames.resolved(2), isNative: true)
        _ = session.take(Frames.resolved(7), isNative: true)
        #expect(session.requests.map(\.id) == [1, 3].map(Frames.requestID))
    }

    @Test("a request that is not sent again before caught_up was closed while we were away")
    func closedMeanwhile() {
        var session = live(at: 0)
        for number: UInt64 in [1, 2] { _ = session.take(Frames.request(number, command: "ls"), isNative: true) }
        _ = session.channelLost(loss)
        _ = session.take(Frames.ready(.replay), isNative: true)
        _ = session.take(Frames.request(2, command: "ls"), isNative: true)
        #expect(session.requests.count == 2, "until everything is here")
        _ = session.take(Frames.caughtUp(0), isNative: true)
        #expect(session.requests.map(\.id) == [Frames.requestID(2)])
    }

    @Test("the digest and the handle follow what is displayed")
    func digests() throws {
        var session = live(at: 0)
        _ = session.take(Frames.request(1, command: "ls"), isNative: true)
        _ = session.take(Frames.request(2, command: "rm -r /"), isNative: true)
        let (harmless, harmful) = (session.requests[0], session.requests[1])
        #expect(harmless.digest != harmful.digest)
        #expect(harmless.digest == ShownDigest(of: harmless.content.shownText, request: harmless.id))
        #expect(harmless.handle == "\(harmless.id.description.suffix(4))-\(harmless.digest.hex.prefix(6))")
    }

    @Test("what `shown` says is displayed, not the fields beside it")
    func shownWins() throws {
        let shown = Request.Content.permission(toolName: "bash", input: ["command": "rm -r /"])
        let lure = Request.Content.permission(toolName: "bash", input: ["command": "ls"])
        var session = live(at: 0)
        _ = session.take(
            DaemonFrame(.request(Request(id: Frames.requestID(1), content: lure, shown: shown.shownText))),
            isNative: true)
        #expect(session.requests.first?.content == shown)
        _ = session.take(
            DaemonFrame(.request(Request(id: Frames.requestID(2), content: lure, shown: "{}"))), isNative: true)
        #expect(session.requests.count == 1, "what cannot be displayed cannot be answered")
    }

    @Test("an answer stays visible as sending until the verdict; a wrong digest reopens it")
    func verdicts() {
        let operation = OperationID(ULID(high: 3, low: 3))
        func verdict(_ outcome: AnswerOutcome) -> DaemonFrame {
            DaemonFrame(
                .answerVerdict(
                    DaemonMessage.AnswerVerdict(
                        operation: operation, requestID: Frames.requestID(1), outcome: outcome)))
        }
        for outcome in AnswerOutcome.allCases {
            var session = live(at: 0)
            _ = session.take(Frames.request(1, command: "ls"), isNative: true)
            session.answering(Frames.requestID(1), with: operation)
            #expect(session.requests.first?.answering == .sending(operation))
            _ = session.take(verdict(outcome), isNative: true)
            #expect(session.requests.first?.answering == (outcome == .notWhatWasShown ? .open : nil))
        }
    }

    @Test("on stock links the history ends the replay, and idle closes the requests")
    func stock() {
        var session = AttachedSession(id: id)
        _ = session.take(Frames.ready(nil, epoch: nil), isNative: false)
        #expect(session.phase == .replaying)
        _ = session.take(DaemonFrame(.sessionHistory(DaemonMessage.SessionHistory(messages: []))), isNative: false)
        #expect(session.phase == .live)
        let content = Request.Content.permission(toolName: "bash", input: [:])
        _ = session.take(DaemonFrame(.request(Request(id: .number(7), content: content))), isNative: false)
        #expect(session.requests.count == 1)
        #expect(session.take(Frames.activity(.idle), isNative: false).last == .turnEnded)
        #expect(session.requests.isEmpty)
    }

    @Test("an own prompt's echo is known by its text once, on stock links")
    func echoes() {
        var session = AttachedSession(id: id)
        session.sent(text: "hi")
        let (first, second) = (session.isEcho("hi"), session.isEcho("hi"))
        #expect(first && !second)
    }

    @Test("the transcript is assembled from what is new only")
    func transcript() {
        var session = live(at: 0)
        let prompt = DaemonFrame(
            .userMessage(
                DaemonMessage.UserMessage(text: "hi", messageID: MessageID(ULID(high: 2, low: 2)))),
            sequence: SequenceNumber(1))
        for _ in 0..<2 { _ = session.take(prompt, isNative: true) }
        #expect(session.transcript.messages.map(\.sequence) == [SequenceNumber(1)])
        #expect(session.transcript.messages.first?.role == .user)
    }

    @Test("at most 64 requests are kept")
    func bound() {
        var session = live(at: 0)
        for number in 1...UInt64(AttachedSession.maxRequests + 1) {
            _ = session.take(Frames.request(number, command: "ls"), isNative: true)
        }
        #expect(session.requests.count == AttachedSession.maxRequests)
        #expect(session.requests.first?.id == Frames.requestID(2))
    }
}

@Suite("The order of sessions")
struct SessionOrderTests {
    @Test("what needs you comes first, then what runs, then pinned, then the last used; archived last")
    func order() {
        func info(_ name: String, _ change: (inout SessionInfo) -> Void) -> SessionInfo {
            var info = SessionInfo(
                sessionID: SessionID("sess_\(name)")!, state: .idle, createdAt: WallTime(milliseconds: 1))
            change(&info)
            return info
        }
        let sessions = [
            info("archived") { $0.archived = true },
            info("old") { $0.lastMessageAt = WallTime(milliseconds: 5) },
            info("new") { $0.lastMessageAt = WallTime(milliseconds: 9) },
            info("pinned") { $0.pinned = true },
            info("running") { $0.state = .running },
            info("asks") { $0.pendingQuestions = 1 },
        ]
        #expect(
            SessionOrder.needsYou(sessions).map { $0.sessionID.text.dropFirst(5) }
                == ["asks", "running", "pinned", "new", "old", "archived"])
    }

    @Test("a session is called by its title, else its summary, its first prompt, its ID")
    func titles() {
        var info = SessionInfo(sessionID: id, state: .idle, createdAt: WallTime(milliseconds: 1))
        #expect(info.displayTitle == "sess_1")
        info.firstMessage = "first"
        #expect(info.displayTitle == "first")
        info.summary = "summary"
        #expect(info.displayTitle == "summary")
        info.title = "title"
        #expect(info.displayTitle == "title")
        info.title = ""
        #expect(info.displayTitle == "summary")
    }
}
