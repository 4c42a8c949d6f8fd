import MewBase
import MewIdentity
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let node = SecretKey.generate(entropy: SystemEntropy()).node

// Found by seeds of the session world: what was asked and never asked about again.

@Suite("No operation is forgotten")
struct NothingForgottenTests {
    private static let prompt = OperationID(ULID(high: 1, low: 1))
    private static let cancel = OperationID(ULID(high: 1, low: 2))
    private static let clear = OperationID(ULID(high: 1, low: 3))

    private static func apply(_ inputs: [ClientInput], to state: inout DaemonState) -> [ClientEffect] {
        inputs.flatMap { state.apply($0, at: WallTime(milliseconds: 1)) }
    }

    private static func found(
        _ operation: OperationID, _ kind: MewClient.Operation.Kind, _ state: MewClient.Operation.State
    ) -> ClientInput {
        .found([
            Operation(
                id: operation, daemon: node, session: id, kind: kind, state: state,
                begun: WallTime(milliseconds: 0))
        ])
    }

    private static let ready = ClientInput.linkReady(
        ReadyLink(
            applicationProtocol: .native, scope: .control, capabilities: [], bootID: nil, deviceName: nil,
            clientKind: .cli), .direct(.loopback(port: 1)))
    private static let live: [ClientInput] = [
        .bound(id), .session(Frames.ready(.snapshot), id), .session(Frames.page(asOf: 1), id),
        .session(Frames.caughtUp(1), id),
    ]

    /// A session that is live over a native link.
    private static var attached: DaemonState {
        var state = DaemonState(
            record: DaemonRecord(node: node, name: "desk", addedAt: WallTime(milliseconds: 0)), app: "mew 1")
        _ = apply([.opening(id), ready] + live, to: &state)
        return state
    }

    private static func queries(_ effects: [ClientEffect]) -> [[OperationID]: Bool] {
        var queries: [[OperationID]: Bool] = [:]
        for case .query(let operations, let settle, _) in effects { queries[operations] = settle }
        return queries
    }

    @Test("whatever was said on a channel that was left is settled when the daemon has read the channel to its end")
    func drained() {
        var state = Self.attached
        _ = Self.apply(
            [Self.found(Self.prompt, .prompt, .sending), Self.found(Self.cancel, .cancel, .sending), .left(id)],
            to: &state)
        #expect(Self.queries(Self.apply([.drained(id)], to: &state)) == [[Self.prompt, Self.cancel]: true])
    }

    /// The end of a command may have been told to a channel that was dead already.
    @Test("a session that is live again is asked about commands as about prompts")
    func liveAgain() {
        var state = Self.attached
        let lost = ClientInput.linkLost(ClientError(.unreachable, ""))
        _ = Self.apply([Self.found(Self.clear, .setting, .stored(nil)), lost], to: &state)
        let effects = Self.apply([Self.ready] + Self.live, to: &state)
        #expect(Self.queries(effects) == [[Self.clear]: false])
    }

    @Test(
        "an error that leaves open what was kept is no refusal: it is asked about at once",
        arguments: [(.internal, true), (.notSaved, false)] as [(ErrorCode, Bool)])
    func inDoubt(code: ErrorCode, isOpen: Bool) {
        var state = Self.attached
        _ = Self.apply([Self.found(Self.prompt, .prompt, .sending)], to: &state)
        let error = DaemonFrame(.error(.init(message: "the disk failed", code: code, operation: Self.prompt)))
        #expect(Self.queries(Self.apply([.session(error, id)], to: &state)) == (isOpen ? [[Self.prompt]: true] : [:]))
        #expect(state.view.operations[Self.prompt]?.state == (isOpen ? .unknown : nil))
    }

    @Test("what could not be settled while nothing was saved is asked about when it is")
    func savingAgain() {
        var state = Self.attached
        _ = Self.apply([Self.found(Self.clear, .setting, .unknown)], to: &state)
        func told(_ isSaving: Bool) -> ClientInput {
            .control(DaemonFrame(.daemonState(.init(isSaving: isSaving, reason: isSaving ? nil : "full"))))
        }
        #expect(Self.queries(Self.apply([told(true), told(false)], to: &state)) == [:])
        #expect(Self.queries(Self.apply([told(true)], to: &state)) == [[Self.clear]: true])
    }
}
