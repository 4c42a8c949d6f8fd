import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

// Every state of an operation against everything that can happen to it. A changed line is a changed transition: look at it, then
// change the table.

@Suite("How far an operation got")
struct OperationTests {
    private static let id = OperationID(ULID(high: 1, low: 1))
    private static let turn = TurnID(ULID(high: 2, low: 2))

    private static let states: [(name: String, state: MewClient.Operation.State)] = [
        ("sending", .sending), ("stored", .stored(turn)), ("delivered", .delivered(turn)),
        ("settled", .settled(.completed)),
        ("refused", .refused(.busy, message: "")), ("unknown", .unknown), ("absent", .absent),
    ]

    private static let inputs: [(name: String, apply: @Sendable (inout MewClient.Operation) -> Void)] = [
        ("channel lost", { $0.channelLost() }),
        ("surely not sent", { $0.failed(ClientError(.unreachable, "")) }),
        ("perhaps sent", { $0.failed(ClientError(.deliveryUnknown, "")) }),
        ("receipt stored", { $0.received(receipt(.stored)) }),
        ("receipt started", { $0.received(receipt(.started)) }),
        ("receipt done", { $0.received(receipt(.done)) }),
        ("receipt refused", { $0.received(receipt(.refused)) }),
        ("absent now", { $0.received(receipt(.absent)) }),
        ("settled absence", { $0.received(receipt(.absent), isSettled: true) }),
        ("error", { $0.failed(ClientError(.notSaved, "")) }),
        ("error in doubt", { $0.failed(ClientError(.internal, "")) }),
        ("sent again", { $0.sentAgain(by: ClientInstance("later")) }),
        ("sent again, error", sentAgain { $0.failed(ClientError(.notSaved, "")) }),
        ("sent again, surely not sent", sentAgain { $0.failed(ClientError(.unreachable, "")) }),
        ("sent again, settled absence", sentAgain { $0.received(receipt(.absent), isSettled: true) }),
        ("sent again, receipt refused", sentAgain { $0.received(receipt(.refused)) }),
    ]

    private static func sentAgain(
        _ then: @escaping @Sendable (inout MewClient.Operation) -> Void
    ) -> @Sendable (inout MewClient.Operation) -> Void {
        { operation in
            operation.sentAgain(by: ClientInstance("later"))
            then(&operation)
        }
    }

    private static func receipt(_ state: ReceiptState) -> DaemonMessage.Receipt {
        DaemonMessage.Receipt(
            operation: id, state: state, isRepeat: false, turnID: turn, result: state == .done ? .failed : nil,
            code: state == .refused ? .leaseHeld : nil, at: WallTime(milliseconds: 1))
    }

    private static func operation(_ state: MewClient.Operation.State) -> MewClient.Operation {
        let daemon = SecretKey.generate(entropy: SeededEntropy(seed: 1)).node
        return Operation(
            id: id, daemon: daemon, session: nil, kind: .prompt, state: state, begun: WallTime(milliseconds: 0))
    }

    private static func words(_ state: MewClient.Operation.State) -> String {
        switch state {
        case .sending: "sending"
        case .stored: "stored"
        case .delivered: "delivered"
        case .settled(let result): "settled:\(result?.rawValue ?? "–")"
        case .refused(let code, _): "refused:\(code.rawValue)"
        case .unknown: "unknown"
        case .absent: "absent"
        }
    }

    @Test("every state against everything that can happen")
    func table() {
        let lines = Self.states.flatMap { name, state in
            Self.inputs.map { input in
                var operation = Self.operation(state)
                input.apply(&operation)
                return "\(name), \(input.name): \(operation.state == state ? "–" : Self.words(operation.state))"
            }
        }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        sending, channel lost: unknown
        sending, surely not sent: refused:unreachable
        sending, perhaps sent: unknown
        sending, receipt stored: stored
        sending, receipt started: delivered
        sending, receipt done: settled:failed
        sending, receipt refused: refused:lease_held
        sending, absent now: –
        sending, settled absence: –
        sending, error: refused:not_saved
        sending, error in doubt: unknown
        sending, sent again: –
        sending, sent again, error: refused:not_saved
        sending, sent again, surely not sent: refused:unreachable
        sending, sent again, settled absence: –
        sending, sent again, receipt refused: refused:lease_held
        stored, channel lost: –
        stored, surely not sent: refused:unreachable
        stored, perhaps sent: –
        stored, receipt stored: –
        stored, receipt started: delivered
        stored, receipt done: settled:failed
        stored, receipt refused: refused:lease_held
        stored, absent now: –
        stored, settled absence: –
        stored, error: refused:not_saved
        stored, error in doubt: –
        stored, sent again: –
        stored, sent again, error: refused:not_saved
        stored, sent again, surely not sent: refused:unreachable
        stored, sent again, settled absence: –
        stored, sent again, receipt refused: refused:lease_held
        delivered, channel lost: –
        delivered, surely not sent: refused:unreachable
        delivered, perhaps sent: –
        delivered, receipt stored: –
        delivered, receipt started: –
        delivered, receipt done: settled:failed
        delivered, receipt refused: refused:lease_held
        delivered, absent now: –
        delivered, settled absence: –
        delivered, error: refused:not_saved
        delivered, error in doubt: –
        delivered, sent again: –
        delivered, sent again, error: refused:not_saved
        delivered, sent again, surely not sent: refused:unreachable
        delivered, sent again, settled absence: –
        delivered, sent again, receipt refused: refused:lease_held
        settled, channel lost: –
        settled, surely not sent: –
        settled, perhaps sent: –
        settled, receipt stored: –
        settled, receipt started: –
        settled, receipt done: –
        settled, receipt refused: –
        settled, absent now: –
        settled, settled absence: –
        settled, error: –
        settled, error in doubt: –
        settled, sent again: –
        settled, sent again, error: –
        settled, sent again, surely not sent: –
        settled, sent again, settled absence: –
        settled, sent again, receipt refused: –
        refused, channel lost: –
        refused, surely not sent: –
        refused, perhaps sent: –
        refused, receipt stored: –
        refused, receipt started: –
        refused, receipt done: –
        refused, receipt refused: –
        refused, absent now: –
        refused, settled absence: –
        refused, error: –
        refused, error in doubt: –
        refused, sent again: –
        refused, sent again, error: –
        refused, sent again, surely not sent: –
        refused, sent again, settled absence: –
        refused, sent again, receipt refused: –
        unknown, channel lost: –
        unknown, surely not sent: refused:unreachable
        unknown, perhaps sent: –
        unknown, receipt stored: stored
        unknown, receipt started: delivered
        unknown, receipt done: settled:failed
        unknown, receipt refused: refused:lease_held
        unknown, absent now: –
        unknown, settled absence: absent
        unknown, error: refused:not_saved
        unknown, error in doubt: –
        unknown, sent again: sending
        unknown, sent again, error: –
        unknown, sent again, surely not sent: –
        unknown, sent again, settled absence: sending
        unknown, sent again, receipt refused: refused:lease_held
        absent, channel lost: –
        absent, surely not sent: –
        absent, perhaps sent: –
        absent, receipt stored: –
        absent, receipt started: –
        absent, receipt done: –
        absent, receipt refused: –
        absent, absent now: –
        absent, settled absence: –
        absent, error: –
        absent, error in doubt: –
        absent, sent again: –
        absent, sent again, error: –
        absent, sent again, surely not sent: –
        absent, sent again, settled absence: –
        absent, sent again, receipt refused: –
        """

    @Test("a program that knows less does not take back what another one kept: every state after every other")
    func recordsDoNotGoBack() throws {
        let states: [MewClient.Operation.State] = [.sending, .unknown, .stored(nil), .delivered(nil)]
        for (first, kept) in states.enumerated() {
            for (second, told) in states.enumerated() {
                var records = ClientRecords()
                let begun = records.begin(
                    .prompt, at: SeededNode.one, session: nil, wall: WallTime(milliseconds: 1),
                    entropy: ConstantEntropy(value: 0))
                var operation = try #require(begun)
                operation.state = kept
                records.record(operation)
                operation.state = told
                records.record(operation)
                // What is being sent and what is unknown take turns.
                let goesBack = second < first && first > 1
                #expect(records.operations.map(\.state) == [goesBack ? kept : told], "\(kept), then \(told)")
            }
        }
    }
}
