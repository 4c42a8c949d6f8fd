import MewWire
import Testing

@testable import MewDaemon

@Suite("Request rules")
struct RequestRulesTests {
    private static let kinds = ClientMessage.Kind.allCases

    private static func code(
        _ kind: ClientMessage.Kind, on link: ApplicationProtocol = .stock, scope: Scope = .control,
        hasOperation: Bool = true
    ) -> ErrorCode? {
        do throws(RequestRules.Refusal) {
            try RequestRules.check(kind, on: link, scope: scope, hasOperation: hasOperation)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("observe reads, and is refused by name whatever changes something", arguments: kinds)
    func observe(kind: ClientMessage.Kind) {
        let reads: Set<ClientMessage.Kind> = [
            .remoteHello, .attachSession, .loadSessionHistory, .listSessions, .listProjects, .listModels, .ping,
            .listDir, .resumeSession, .listAgents, .listPersonas, .requestQuery,
        ]
        let want: ErrorCode? = reads.contains(kind) ? nil : kind.isServed ? .scope : .unknownType
        #expect(Self.code(kind, scope: .observe) == want)
    }

    @Test("collaborate adds the conversation and nothing that makes or destroys", arguments: kinds)
    func collaborate(kind: ClientMessage.Kind) {
        let added: Set<ClientMessage.Kind> = [
            .prompt, .guide, .cancel, .permissionResponse, .askUserResponse, .planApprovalResponse, .receiptQuery,
            .yieldControl, .lease,
        ]
        guard kind.isServed else { return #expect(Self.code(kind, scope: .collaborate) == .unknownType) }
        let isAllowed = Self.code(kind, scope: .observe) == nil || added.contains(kind)
        #expect(Self.code(kind, scope: .collaborate) == (isAllowed ? nil : .scope))
    }

    @Test("control may do everything this daemon serves; the rest is refused as unknown", arguments: kinds)
    func control(kind: ClientMessage.Kind) {
        #expect(Self.code(kind, scope: .control) == (kind.isServed ? nil : .unknownType))
    }

    @Test(
        "natively whatever changes something needs an op_id; stock peers have none", arguments: kinds.filter(\.isServed)
    )
    func operations(kind: ClientMessage.Kind) {
        #expect(Self.code(kind, on: .native, hasOperation: false) == (kind.changesSomething ? .opIDRequired : nil))
        #expect(Self.code(kind, on: .stock, hasOperation: false) == nil)
    }
}
