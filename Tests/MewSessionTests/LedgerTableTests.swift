import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

// Every state of an operation in the ledger against everything that can happen to it: what the caller is told, and the state
// afterwards. A changed line is a changed transition: look at it, then change the table.

@Suite("the ledger's transition table")
struct LedgerTableTests {
    private static let key = OperationKey(device: CoreBench.node(1), id: OperationID(ULID(high: 1, low: 5)))
    private static let content: [UInt8] = [1]

    private enum State: String, CaseIterable {
        case stranger, new, old, asked, absent, expired, underWay, settling, stored, settled
    }

    private static func bounds(_ highest: UInt64?, evicted: UInt64? = nil) -> OperationBounds {
        OperationBounds(
            highest: highest.map { OperationID(ULID(high: 1, low: $0)) },
            highestEvicted: evicted.map { OperationID(ULID(high: 1, low: $0)) })
    }

    private static func receipt(_ state: ReceiptState, _ code: ErrorCode? = nil) -> DaemonMessage.Receipt {
        .init(operation: key.id, state: state, isRepeat: false, code: code, at: WallTime(milliseconds: 1))
    }

    private static func ledger(in state: State) -> ReceiptLedger {
        var ledger = ReceiptLedger()
        guard state != .stranger else { return ledger }
        let isOld = [.old, .asked, .absent, .expired].contains(state)
        ledger.learn(bounds(isOld ? 9 : nil), of: key.device)
        switch state {
        case .stranger, .new, .old: break
        case .asked: _ = ledger.inquire(key)
        case .absent, .expired:
            _ = ledger.inquire(key)
            ledger.learn(.nothing(bounds(9, evicted: state == .expired ? 5 : 4)), for: key)
        case .underWay: _ = ledger.admit(key, content: content)
        case .settling: _ = ledger.admit(key, content: ReceiptLedger.settling)
        case .stored:
            _ = ledger.admit(key, content: content)
            ledger.record(receipt(.stored), for: key)
        case .settled:
            _ = ledger.admit(key, content: ReceiptLedger.settling)
            ledger.record(receipt(.refused, .opSettled), for: key)
        }
        return ledger
    }

    private static let inputs: [(name: String, apply: @Sendable (inout ReceiptLedger) -> String)] = [
        ("admit", { word($0.admit(key, content: content)) }),
        ("admit other", { word($0.admit(key, content: [2])) }),
        ("settle", { word($0.admit(key, content: ReceiptLedger.settling)) }),
        ("inquire", { word($0.inquire(key)) }),
        ("learn bounds", { ledger in told { ledger.learn(bounds(9, evicted: 5), of: key.device) } }),
        (
            "found done",
            { ledger in told { ledger.learn(.receipt(receipt(.done), content: content), for: key) } }
        ),
        ("found nothing", { ledger in told { ledger.learn(.nothing(bounds(9)), for: key) } }),
        ("record done", { ledger in told { ledger.record(receipt(.done), for: key) } }),
        ("abandon", { ledger in told { ledger.abandon(key) } }),
    ]

    private static func told(_ body: () -> Void) -> String {
        body()
        return "–"
    }

    private static func word(_ admission: ReceiptLedger.Admission) -> String {
        switch admission {
        case .fresh: "FRESH"
        case .known(let receipt): "known:\(receipt.state.rawValue)"
        case .underWay: "underWay"
        case .refused(let code): "refused:\(code.rawValue)"
        case .needsBounds: "needsBounds"
        case .needsReceipt: "needsReceipt"
        }
    }

    private static func word(_ inquiry: ReceiptLedger.Inquiry) -> String {
        switch inquiry {
        case .known(let receipt): "known:\(receipt.code?.rawValue ?? receipt.state.rawValue)"
        case .absent: "absent"
        case .expired: "expired"
        case .underWay: "underWay"
        case .needsBounds: "needsBounds"
        case .needsReceipt: "needsReceipt"
        }
    }

    private static func line(_ state: State, _ name: String, _ apply: (inout ReceiptLedger) -> String) -> String {
        var ledger = ledger(in: state)
        let told = apply(&ledger)
        var (asked, admitted) = (ledger, ledger)
        let (inquiry, admission) = (word(asked.inquire(key)), word(admitted.admit(key, content: content)))
        return "\(state.rawValue), \(name): \(told) → \(inquiry), \(admission)"
    }

    @Test("every state against every input: what is told → what an inquiry and an admission get then")
    func table() {
        let lines = State.allCases.flatMap { state in Self.inputs.map { Self.line(state, $0.name, $0.apply) } }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        stranger, admit: needsBounds → needsBounds, needsBounds
        stranger, admit other: needsBounds → needsBounds, needsBounds
        stranger, settle: needsBounds → needsBounds, needsBounds
        stranger, inquire: needsBounds → needsBounds, needsBounds
        stranger, learn bounds: – → needsReceipt, needsReceipt
        stranger, found done: – → needsBounds, needsBounds
        stranger, found nothing: – → needsBounds, needsBounds
        stranger, record done: – → needsBounds, needsBounds
        stranger, abandon: – → needsBounds, needsBounds
        new, admit: FRESH → underWay, underWay
        new, admit other: FRESH → underWay, refused:op_conflict
        new, settle: FRESH → underWay, underWay
        new, inquire: absent → absent, FRESH
        new, learn bounds: – → needsReceipt, needsReceipt
        new, found done: – → absent, FRESH
        new, found nothing: – → absent, FRESH
        new, record done: – → absent, FRESH
        new, abandon: – → absent, FRESH
        old, admit: needsReceipt → underWay, underWay
        old, admit other: needsReceipt → underWay, underWay
        old, settle: needsReceipt → underWay, underWay
        old, inquire: needsReceipt → underWay, underWay
        old, learn bounds: – → needsReceipt, needsReceipt
        old, found done: – → needsReceipt, needsReceipt
        old, found nothing: – → needsReceipt, needsReceipt
        old, record done: – → needsReceipt, needsReceipt
        old, abandon: – → needsReceipt, needsReceipt
        asked, admit: underWay → underWay, underWay
        asked, admit other: underWay → underWay, underWay
        asked, settle: underWay → underWay, underWay
        asked, inquire: underWay → underWay, underWay
        asked, learn bounds: – → underWay, underWay
        asked, found done: – → known:done, known:done
        asked, found nothing: – → absent, FRESH
        asked, record done: – → underWay, underWay
        asked, abandon: – → needsReceipt, needsReceipt
        absent, admit: FRESH → underWay, underWay
        absent, admit other: FRESH → underWay, refused:op_conflict
        absent, settle: FRESH → underWay, underWay
        absent, inquire: absent → absent, FRESH
        absent, learn bounds: – → expired, refused:op_expired
        absent, found done: – → absent, FRESH
        absent, found nothing: – → absent, FRESH
        absent, record done: – → absent, FRESH
        absent, abandon: – → absent, FRESH
        expired, admit: refused:op_expired → expired, refused:op_expired
        expired, admit other: refused:op_expired → expired, refused:op_expired
        expired, settle: refused:op_expired → expired, refused:op_expired
        expired, inquire: expired → expired, refused:op_expired
        expired, learn bounds: – → expired, refused:op_expired
        expired, found done: – → expired, refused:op_expired
        expired, found nothing: – → expired, refused:op_expired
        expired, record done: – → expired, refused:op_expired
        expired, abandon: – → expired, refused:op_expired
        underWay, admit: underWay → underWay, underWay
        underWay, admit other: refused:op_conflict → underWay, underWay
        underWay, settle: underWay → underWay, underWay
        underWay, inquire: underWay → underWay, underWay
        underWay, learn bounds: – → underWay, underWay
        underWay, found done: – → underWay, underWay
        underWay, found nothing: – → underWay, underWay
        underWay, record done: – → known:done, known:done
        underWay, abandon: – → needsReceipt, needsReceipt
        settling, admit: underWay → underWay, underWay
        settling, admit other: underWay → underWay, underWay
        settling, settle: underWay → underWay, underWay
        settling, inquire: underWay → underWay, underWay
        settling, learn bounds: – → underWay, underWay
        settling, found done: – → underWay, underWay
        settling, found nothing: – → underWay, underWay
        settling, record done: – → known:done, refused:op_conflict
        settling, abandon: – → needsReceipt, needsReceipt
        stored, admit: known:stored → known:stored, known:stored
        stored, admit other: refused:op_conflict → known:stored, known:stored
        stored, settle: refused:op_conflict → known:stored, known:stored
        stored, inquire: known:stored → known:stored, known:stored
        stored, learn bounds: – → known:stored, known:stored
        stored, found done: – → known:stored, known:stored
        stored, found nothing: – → known:stored, known:stored
        stored, record done: – → known:done, known:done
        stored, abandon: – → known:stored, known:stored
        settled, admit: refused:op_settled → known:op_settled, refused:op_settled
        settled, admit other: refused:op_settled → known:op_settled, refused:op_settled
        settled, settle: refused:op_settled → known:op_settled, refused:op_settled
        settled, inquire: known:op_settled → known:op_settled, refused:op_settled
        settled, learn bounds: – → known:op_settled, refused:op_settled
        settled, found done: – → known:op_settled, refused:op_settled
        settled, found nothing: – → known:op_settled, refused:op_settled
        settled, record done: – → known:done, refused:op_conflict
        settled, abandon: – → known:op_settled, refused:op_settled
        """
}
