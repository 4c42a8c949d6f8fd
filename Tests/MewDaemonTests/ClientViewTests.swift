import MewBase
import MewWire
import Testing

@testable import MewDaemon

@Suite("What a client sees")
struct ClientViewTests {
    private static let own = SessionID(ULID(high: 1, low: 1))
    private static let other = SessionID(ULID(high: 1, low: 2))

    private static func attached(_ link: ApplicationProtocol = .stock) -> ClientView {
        var view = ClientView(link: link)
        _ = view.frames(for: DaemonFrame(.sessionReady(.init(sessionID: own))), to: .mobile)
        return view
    }

    private static func title(_ session: SessionID) -> DaemonFrame {
        DaemonFrame(.sessionTitleChanged(.init(sessionID: session, title: "Fix launch crash")))
    }

    private static func attention(_ session: SessionID, _ permissions: UInt32, _ questions: UInt32) -> DaemonFrame {
        DaemonFrame(
            .sessionAttentionChanged(
                .init(sessionID: session, pendingPermissions: permissions, pendingQuestions: questions)))
    }

    @Test(
        "a phone gets titles of its own session only, other stock clients all of them",
        arguments: [
            (ClientKind.mobile, 0), (.unknown, 0), (.tui, 1), (.remote, 1),
        ])
    func titles(kind: ClientKind, count: Int) {
        var view = Self.attached()
        #expect(view.frames(for: Self.title(Self.other), to: kind).count == count)
        #expect(view.frames(for: Self.title(Self.own), to: kind) == [Self.title(Self.own)])
    }

    @Test("a stock client reads the title where it looks for it: in the summary")
    func titleInSummary() {
        var view = Self.attached()
        let info = SessionInfo(
            sessionID: Self.own, state: .idle, createdAt: WallTime(milliseconds: 1), summary: "old", title: "Title")
        let frames = view.frames(for: DaemonFrame(.sessionList(.init(sessions: [info]))), to: .mobile)
        guard case .sessionList(let list)? = frames.first?.message else { return fail("no list") }
        #expect(list.sessions.first?.summary == "Title")
    }

    @Test("the newest page reaches a phone as the whole transcript, older pages and other kinds as pages")
    func historyForm() {
        var view = Self.attached()
        func page(replaces: Bool) -> DaemonFrame {
            DaemonFrame(.sessionHistoryPage(.init(sessionID: Self.own, messages: [], replaces: replaces)))
        }
        #expect(
            view.frames(for: page(replaces: true), to: .mobile) == [DaemonFrame(.sessionHistory(.init(messages: [])))])
        #expect(view.frames(for: page(replaces: false), to: .mobile) == [page(replaces: false)])
        #expect(view.frames(for: page(replaces: true), to: .web) == [page(replaces: true)])
    }

    @Test("after the counts of another session a phone is told its own again, counted from what is open")
    func attention() {
        var view = Self.attached()
        let permission = Request(
            id: .text("R1"), content: .permission(toolName: "bash", input: ["command": "ls"]))
        _ = view.frames(for: DaemonFrame(.request(permission)), to: .mobile)
        #expect(
            view.frames(for: Self.attention(Self.other, 2, 3), to: .mobile)
                == [Self.attention(Self.other, 2, 3), Self.attention(Self.own, 1, 0)])
        _ = view.frames(for: DaemonFrame(.requestResolved(.init(requestID: .text("R1")))), to: .mobile)
        #expect(view.frames(for: Self.attention(Self.other, 2, 3), to: .mobile).last == Self.attention(Self.own, 0, 0))
        #expect(view.frames(for: Self.attention(Self.own, 0, 0), to: .mobile) == [Self.attention(Self.own, 0, 0)])
    }

    @Test("a phone shows no options, so they stand in the question")
    func options() {
        var view = Self.attached()
        let question = Question(
            prompt: "Which target?",
            options: [.init(label: "iOS", description: ""), .init(label: "macOS", description: "")])
        let request = Request(id: .text("R2"), callID: "c", content: .askUser(questions: [question]))
        let frames = view.frames(for: DaemonFrame(.request(request)), to: .mobile)
        guard case .request(let shown)? = frames.first?.message else { return fail("no request") }
        #expect(shown.content.questions?.first?.prompt == "Which target?\n• iOS\n• macOS")
        #expect(shown.content.questions?.first?.options == question.options)
    }

    @Test("a native client sees everything as it is")
    func native() {
        var view = Self.attached(.native)
        for frame in [Self.title(Self.other), Self.attention(Self.other, 1, 1)] {
            #expect(view.frames(for: frame, to: .mobile) == [frame])
        }
    }
}
