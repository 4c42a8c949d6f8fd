import MewBase
import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

@Suite("lists fit into a frame, whatever is in them")
struct ListSizeTests {
    /// As long as a line may be, of bytes that JSON writes as six.
    private static func line(_ number: UInt64, files: Int) -> SessionInfo {
        let path = "/" + String(repeating: "\u{1}", count: TextLimits.pathBytes - 1)
        return SessionInfo(
            sessionID: SessionID(ULID(high: 1, low: number)), state: .idle,
            createdAt: WallTime(milliseconds: Int64(number)), cwd: path, workspacePath: path + "\(number)",
            changeStats: ChangeStats(added: 1, removed: 1, files: (0..<files).map { "\($0)" }), firstMessage: "hi",
            title: String(repeating: "\u{1}", count: TextLimits.nameBytes))
    }

    private func fill(_ bench: SessionsBench, _ count: UInt64, files: Int = 0) throws {
        let registry = bench.registry
        try bench.run {
            await registry.keep((1...count).map { Self.line($0, files: files) })
        }
    }

    @Test(
        "the newest sessions and projects are listed, the oldest left out, natively and on a phone",
        arguments: [SessionClient.Role.control, .stock])
    func longTexts(_ role: SessionClient.Role) throws {
        try SessionsBench.with("long-lists", agent: ScriptedAgent([])) { bench in
            try fill(bench, 2_000)
            let client = try bench.client(role, kind: .mobile)
            try client.send(.listSessions)
            try client.send(.listProjects)
            let texts = client.takeTexts()
            #expect(texts.count == 3)
            #expect(texts.allSatisfy { $0.utf8.count <= 8 << 20 })
            try client.send(.listSessions)
            let sessions = try #require(try client.take().sessionList)
            #expect((30..<2_000).contains(sessions.count))
            #expect(sessions.first?.sessionID == SessionID(ULID(high: 1, low: 2_000)))
        }
    }

    @Test("a list has no more values than a peer parses")
    func manyValues() throws {
        try SessionsBench.with("many-values", agent: ScriptedAgent([])) { bench in
            let registry = bench.registry
            try bench.run {
                await registry.keep(
                    (UInt64(1)...4_000).map { number in
                        var line = Self.line(number, files: 200)
                        (line.cwd, line.workspacePath, line.title) = ("/", "/", nil)
                        return line
                    })
            }
            let client = try bench.client(.control)
            try client.send(.listSessions)
            #expect((100..<4_000).contains(try #require(try client.take().sessionList).count))
        }
    }
}

extension SessionRegistry {
    /// Lines of sessions that nobody loads.
    fileprivate func keep(_ lines: [SessionInfo]) {
        for line in lines { listings[line.sessionID] = line }
    }
}
