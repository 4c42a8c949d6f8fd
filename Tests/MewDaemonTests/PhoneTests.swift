import MewBase
import MewIdentity
import MewLoop
import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// What a stock phone is told otherwise than the others, because of how it takes what it gets (spec/mew-wire.md §5.8).
@Suite("Stock phones", .timeLimit(.minutes(1)))
struct PhoneTests {
    private static let rows = [DaemonBench.device(Pairing.phone), DaemonBench.device(Pairing.laptop)]
    private static let asking = ScriptedAgent.Step.permission(
        ToolPermission(toolName: "bash", input: ["command": "ls"], call: "call_1", sensitivity: .dangerous))

    private func operation(_ number: UInt64) -> OperationID { OperationID(ULID(high: 1, low: number)) }

    /// A phone with a session of its own.
    private func phone(_ bench: SessionBench) async throws -> (channel: TestChannel, session: SessionID) {
        let channel = try await bench.connect(Pairing.phone, .stock)
        try await channel.hello()
        try await channel.send(.newSession(.init(clientKind: .mobile)))
        while let message = try await channel.message() {
            guard case .sessionReady(let ready) = message else { continue }
            try await channel.send(.ping)
            while let next = try await channel.message(), next != .pong(.init(version: "0.2.0")) {}
            return (channel, ready.sessionID)
        }
        throw ChannelError.finished
    }

    @Test("after the open requests of another session it is told those of its own again")
    func attention() async throws {
        try await SessionBench.with(ScriptedAgent([[Self.asking, .hang]]), devices: Self.rows) { bench in
            let phone = try await phone(bench)
            let laptop = try await bench.connect(Pairing.laptop, .stock)
            try await laptop.hello()
            try await laptop.send(.newSession(.init(clientKind: .tui)))
            try await laptop.send(.prompt(.init(text: "list")))
            var counts: [DaemonMessage.SessionAttentionChanged] = []
            while counts.count < 2, let message = try await phone.channel.message() {
                if case .sessionAttentionChanged(let change) = message { counts.append(change) }
            }
            #expect(counts.first?.sessionID != phone.session && counts.first?.pendingPermissions == 1)
            #expect(counts.last == .init(sessionID: phone.session, pendingPermissions: 0, pendingQuestions: 0))
        }
    }

    @Test("it hears no titles of other sessions, the others do")
    func titles() async throws {
        try await SessionBench.with(ScriptedAgent([]), devices: Self.rows) { bench in
            let phone = try await phone(bench)
            let laptop = try await bench.connect(Pairing.laptop, .stock)
            try await laptop.hello()
            try await laptop.send(.newSession(.init(clientKind: .tui)))
            var other: SessionID?
            while other == nil, let message = try await laptop.message() {
                if case .sessionReady(let ready) = message { other = ready.sessionID }
            }
            let session = try #require(other)
            try await laptop.send(.renameSession(.init(sessionID: session, title: "theirs")))
            try await laptop.send(.renameSession(.init(sessionID: phone.session, title: "mine")))
            var heard: [String] = []
            while !heard.contains("mine"), let message = try await phone.channel.message() {
                if case .sessionTitleChanged(let change) = message { heard.append(change.title) }
            }
            #expect(heard == ["mine"])
        }
    }

    @Test("that nothing is being saved comes as an error it can show, once; that all is well again is not told")
    func notSaving() async throws {
        try await SessionBench.with(ScriptedAgent([]), devices: Self.rows) { bench in
            let phone = try await phone(bench)
            await bench.sessions.broadcast(.daemonState(.init(isSaving: false, reason: "the disk is full")))
            await bench.sessions.broadcast(.daemonState(.init(isSaving: true)))
            try await phone.channel.send(.ping)
            #expect(
                try await phone.channel.message()
                    == .errorEvent(.init(message: "nothing is being saved: the disk is full")))
            #expect(try await phone.channel.message() == .pong(.init(version: "0.2.0")))
        }
    }

    @Test("after it archived a session it gets the list unasked")
    func archive() async throws {
        try await SessionBench.with(ScriptedAgent([]), devices: Self.rows) { bench in
            let phone = try await phone(bench)
            // A session in which nothing was said is in no list.
            try await phone.channel.send(.prompt(.init(text: "hello")))
            try await phone.channel.send(.archiveSession(.init(sessionID: phone.session, archived: true)))
            while let message = try await phone.channel.message() {
                guard case .sessionList(let list) = message else { continue }
                #expect(list.sessions.map(\.archived) == [true])
                return
            }
            fail("no list came")
        }
    }
}
