import MewSession
import MewTestSupport
import MewWire
import Testing

@Suite("tools that were allowed for the session")
struct AllowedToolsTests {
    private func permission(_ tool: String) -> AgentCall {
        .permission(.init(toolName: tool, input: ["command": "ls"], call: "c", sensitivity: .dangerous))
    }

    /// A turn runs, and each of these tools was allowed.
    private func allowed(_ tools: String..., mode: PermissionMode = .standard) throws -> (CoreBench, ClientID) {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.setPermissionMode(.init(mode: mode.rawValue)), from: client)
        bench.send(.prompt(.init(text: "run")), from: client)
        for tool in tools {
            bench.call(permission(tool))
            bench.answer(try #require(bench.request(at: client)), .permission(.allowSession), from: client)
        }
        return (bench, client)
    }

    private func told(_ frames: [DaemonFrame]) -> [DaemonMessage.PermissionModeChanged] {
        frames.compactMap { if case .permissionModeChanged(let change) = $0.message { change } else { nil } }
    }

    @Test("what was allowed is told to all who hear the session, stands in the list and in the log")
    func told() throws {
        var (bench, client) = try allowed("bash", "edit")
        let changes = told(bench.takeFrames(client)).dropFirst()
        #expect(changes.map(\.allowedTools) == [["bash"], ["bash", "edit"]])
        #expect(bench.core.info.allowedTools == ["bash", "edit"])
        #expect(bench.notes == ["tool_allowed", "tool_allowed"])
        bench.crash()
        #expect(bench.core.info.allowedTools == ["bash", "edit"])
    }

    @Test("it is taken back for all devices, and every tool asks again, also after a restart")
    func forgotten() throws {
        var (bench, client) = try allowed("bash")
        let phone = bench.attach(device: 2, name: "phone")
        _ = bench.take(client)
        _ = bench.takeReceipts()
        bench.send(.forgetAllowedTools, from: phone)
        #expect(bench.takeReceipts().map(\.state) == [.done])
        #expect(told(bench.takeFrames(client)) == [.init(mode: "standard", allowedTools: [])])
        #expect(bench.core.info.allowedTools == nil)
        let call = bench.call(permission("bash"))
        #expect(bench.replies[call] == nil)
        #expect(bench.notes.last == "tools_ask_again")
        bench.crash()
        #expect(bench.core.info.allowedTools == nil)
    }

    @Test("where nothing was allowed there is nothing to tell")
    func nothing() throws {
        var (bench, client) = try allowed()
        _ = bench.take(client)
        _ = bench.takeReceipts()
        bench.send(.forgetAllowedTools, from: client)
        #expect(bench.take(client) == [])
        #expect(bench.takeReceipts().map(\.state) == [.done])
    }

    @Test("a stricter mode takes it back, and no other does")
    func modes() throws {
        let order: [[PermissionMode]] = [[.standard, .auto, .autoPlus], [.permissive], [.dangerous]]
        for (rank, modes) in order.enumerated() {
            for (otherRank, others) in order.enumerated() {
                for (mode, other) in modes.flatMap({ mode in others.map { (mode, $0) } }) {
                    var (bench, client) = try allowed("bash")
                    bench.send(.setPermissionMode(.init(mode: mode.rawValue)), from: client)
                    // From the strictest nothing was taken back.
                    #expect(bench.core.info.allowedTools == ["bash"])
                    bench.send(.setPermissionMode(.init(mode: other.rawValue)), from: client)
                    #expect((bench.core.info.allowedTools == nil) == (otherRank < rank), "\(mode) to \(other)")
                }
            }
        }
    }
}
