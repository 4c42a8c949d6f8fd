import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one

@Suite("Sessions of a stock daemon", .timeLimit(.minutes(1)))
struct StockSessionTests {
    @Test("a stock daemon: attach, history, prompt with its echo, and the numbers of its requests")
    func stock() async throws {
        let stage = Stage(protocols: [.stock])
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let attached: Void = stage.supervisor.attach(id)
            guard case .attachSession(let attach) = try await link.control.receive().message else {
                throw FakeDaemonError("no attach")
            }
            #expect(attach.clientKind == .remote)
            try await link.control.send(.sessionReady(DaemonMessage.SessionReady(sessionID: id)))
            try await link.control.send(
                .sessionHistoryPage(
                    DaemonMessage.SessionHistoryPage(sessionID: id, messages: [], replaces: true)))
            try await attached
            _ = try await stage.supervisor.prompt("hi", in: id)
            let prompt = try await link.control.receive()
            #expect(prompt.operation == nil, "stock daemons know no operations")
            try await link.control.send(.userMessage(DaemonMessage.UserMessage(text: "hi")))
            #expect(try await feed.sessionEvent { $0.frame.message.kind == .userMessage }.isOwnEcho)
            try await link.control.send(
                text: "{\"type\":\"permission_request\",\"request_id\":7,\"tool_name\":\"bash\",\"input\":{}}")
            _ = try await feed.sessionEvent { $0.frame.message.kind == .permissionRequest }
            let pending = try #require(await stage.supervisor.view.attached[id]?.requests.first)
            _ = try await stage.supervisor.answer(pending, .permission(.deny), in: id)
            guard case .answer(let answer) = try await link.control.receive().message else {
                throw FakeDaemonError("no answer")
            }
            #expect(answer.requestID == .number(7))
        }
    }

    @Test(
        "a stock daemon: the echo delivers a prompt, the end of its turn settles it, a loss before the echo is unknown")
    func stockOperations() async throws {
        let stage = Stage(protocols: [.stock])
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let attached: Void = stage.supervisor.attach(id)
            _ = try await link.control.receive()
            try await link.control.send(.sessionReady(DaemonMessage.SessionReady(sessionID: id)))
            try await link.control.send(.sessionHistory(DaemonMessage.SessionHistory(messages: [])))
            try await attached
            let operation = try await stage.supervisor.prompt("hi", in: id)
            try await link.control.send(.userMessage(DaemonMessage.UserMessage(text: "hi")))
            _ = try await feed.operation { $0.id == operation && $0.state == .delivered(nil) }
            try await link.control.send(
                .sessionActivityChanged(DaemonMessage.SessionActivityChanged(sessionID: id, activity: .idle)))
            _ = try await feed.operation { $0.id == operation && $0.state == .settled(nil) }
            let lost = try await stage.supervisor.prompt("again", in: id)
            stage.daemon.breakLinks()
            _ = try await feed.operation { $0.id == lost && $0.state == .unknown }
            #expect(await stage.store.records().operations.map(\.id) == [lost])
        }
    }
}
