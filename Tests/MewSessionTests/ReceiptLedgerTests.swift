import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

@Suite("an operation is done once, whatever is repeated")
struct ReceiptLedgerTests {
    private let device = CoreBench.node(1)

    private func key(_ number: UInt64, device: NodeID? = nil) -> OperationKey {
        OperationKey(device: device ?? self.device, id: OperationID(ULID(high: 1, low: number)))
    }

    private func receipt(
        _ key: OperationKey, _ state: ReceiptState = .done, code: ErrorCode? = nil
    ) -> DaemonMessage.Receipt {
        DaemonMessage.Receipt(
            operation: key.id, state: state, isRepeat: false, code: code, at: WallTime(milliseconds: 1))
    }

    private func repeated(_ receipt: DaemonMessage.Receipt) -> DaemonMessage.Receipt {
        var receipt = receipt
        receipt.isRepeat = true
        return receipt
    }

    private func bounds(highest: UInt64? = nil, evicted: UInt64? = nil) -> OperationBounds {
        OperationBounds(highest: highest.map { key($0).id }, highestEvicted: evicted.map { key($0).id })
    }

    /// A ledger that knows the bounds of the device.
    private func ledger(highest: UInt64? = nil, evicted: UInt64? = nil) -> ReceiptLedger {
        var ledger = ReceiptLedger()
        ledger.learn(bounds(highest: highest, evicted: evicted), of: device)
        return ledger
    }

    @Test("the first operation of a device needs the bounds of what the store knows")
    func bounds() {
        var ledger = ReceiptLedger()
        #expect(ledger.admit(key(1), content: [1]) == .needsBounds)
        ledger.learn(bounds(), of: device)
        #expect(ledger.admit(key(1), content: [1]) == .fresh)
    }

    @Test("a repeat waits while the original is under way, and then gets its receipt")
    func repeats() {
        var ledger = ledger()
        #expect(ledger.admit(key(1), content: [1]) == .fresh)
        #expect(ledger.admit(key(1), content: [1]) == .underWay)
        ledger.record(receipt(key(1), .stored), for: key(1))
        #expect(ledger.admit(key(1), content: [1]) == .known(repeated(receipt(key(1), .stored))))
        ledger.record(receipt(key(1), .started), for: key(1))
        #expect(ledger.admit(key(1), content: [1]) == .known(repeated(receipt(key(1), .started))))
    }

    @Test("the same number with other content is a conflict, under way and afterwards")
    func conflict() {
        var ledger = ledger()
        #expect(ledger.admit(key(1), content: [1]) == .fresh)
        #expect(ledger.admit(key(1), content: [2]) == .refused(.opConflict))
        ledger.record(receipt(key(1)), for: key(1))
        #expect(ledger.admit(key(1), content: [2]) == .refused(.opConflict))
    }

    @Test("the same number of another device is another operation")
    func devices() {
        var ledger = ledger()
        ledger.learn(bounds(), of: CoreBench.node(2))
        #expect(ledger.admit(key(1), content: [1]) == .fresh)
        #expect(ledger.admit(key(1, device: CoreBench.node(2)), content: [9]) == .fresh)
    }

    @Test("what was not saved may come again as if for the first time")
    func abandoned() {
        var ledger = ledger()
        #expect(ledger.admit(key(1), content: [1]) == .fresh)
        ledger.abandon(key(1))
        #expect(ledger.admit(key(1), content: [1]) == .needsReceipt)
        ledger.learn(.nothing(bounds()), for: key(1))
        #expect(ledger.admit(key(1), content: [2]) == .fresh)
    }

    @Test("a number at or below the highest one is looked up; above it, it is new")
    func lookUp() {
        var ledger = ledger(highest: 10)
        #expect(ledger.admit(key(11), content: [1]) == .fresh)
        #expect(ledger.admit(key(10), content: [1]) == .needsReceipt)
        ledger.learn(.receipt(receipt(key(10)), content: [1]), for: key(10))
        #expect(ledger.admit(key(10), content: [1]) == .known(repeated(receipt(key(10)))))
        #expect(ledger.admit(key(9), content: [1]) == .needsReceipt)
        ledger.learn(.nothing(bounds(highest: 11)), for: key(9))
        #expect(ledger.admit(key(9), content: [1]) == .fresh)
    }

    @Test("at the highest evicted number an unknown operation has expired; one above it is new")
    func expired() {
        var ledger = ledger(highest: 10, evicted: 5)
        for number in [5, 6] as [UInt64] {
            #expect(ledger.admit(key(number), content: [1]) == .needsReceipt)
            ledger.learn(.nothing(bounds(highest: 10, evicted: 5)), for: key(number))
        }
        #expect(ledger.admit(key(5), content: [1]) == .refused(.opExpired))
        #expect(ledger.admit(key(6), content: [1]) == .fresh)
    }

    @Test("a settled operation is refused when it arrives, and settling waits for one that is under way")
    func settled() {
        var ledger = ledger()
        #expect(ledger.admit(key(1), content: ReceiptLedger.settling) == .fresh)
        #expect(ledger.admit(key(1), content: [1]) == .underWay)
        ledger.record(receipt(key(1), .refused, code: .opSettled), for: key(1))
        #expect(ledger.admit(key(1), content: [1]) == .refused(.opSettled))
        #expect(ledger.admit(key(2), content: [1]) == .fresh)
        #expect(ledger.admit(key(2), content: ReceiptLedger.settling) == .underWay)
    }

    @Test("an operation that was looked up first is under way however many others are remembered meanwhile")
    func lookedUpAndUnderWay() {
        var ledger = ledger(highest: 1_000)
        #expect(ledger.admit(key(1), content: [1]) == .needsReceipt)
        ledger.learn(.nothing(bounds(highest: 1_000)), for: key(1))
        #expect(ledger.admit(key(1), content: [1]) == .fresh)
        for number in 2...UInt64(ReceiptLedger.rememberedPerDevice + 2) {
            #expect(ledger.inquire(key(number)) == .needsReceipt)
            ledger.learn(.receipt(receipt(key(number)), content: [1]), for: key(number))
        }
        #expect(ledger.admit(key(1), content: [1]) == .underWay)
        ledger.record(receipt(key(1)), for: key(1))
        #expect(ledger.admit(key(1), content: [1]) == .known(repeated(receipt(key(1)))))
    }

    @Test("256 receipts are remembered per device; older ones are asked of the store")
    func memory() {
        var ledger = ledger()
        for number in 1...UInt64(ReceiptLedger.rememberedPerDevice + 1) {
            #expect(ledger.admit(key(number), content: [1]) == .fresh)
            ledger.record(receipt(key(number)), for: key(number))
        }
        #expect(ledger.remembered == ReceiptLedger.rememberedPerDevice)
        #expect(ledger.admit(key(1), content: [1]) == .needsReceipt)
        #expect(ledger.admit(key(2), content: [1]) == .known(repeated(receipt(key(2)))))
    }

    @Test("a question about a receipt that was dropped is answered with expired, one above the bound with absent")
    func inquiries() {
        var ledger = ledger(highest: 10, evicted: 5)
        for number in [5, 6] as [UInt64] {
            #expect(ledger.inquire(key(number)) == .needsReceipt)
            ledger.learn(.nothing(bounds(highest: 10, evicted: 5)), for: key(number))
        }
        #expect(ledger.inquire(key(5)) == .expired)
        #expect(ledger.inquire(key(6)) == .absent)
        #expect(ledger.inquire(key(11)) == .absent)
        #expect(ledger.admit(key(11), content: [1]) == .fresh)
        #expect(ledger.inquire(key(11)) == .underWay)
        ledger.record(receipt(key(11)), for: key(11))
        #expect(ledger.inquire(key(11)) == .known(repeated(receipt(key(11)))))
    }

    @Test("what the store drops while the daemon runs has expired too, and does not run again")
    func droppedLater() {
        var ledger = ledger(highest: 10)
        #expect(ledger.admit(key(3), content: [1]) == .needsReceipt)
        ledger.learn(.nothing(bounds(highest: 10, evicted: 3)), for: key(3))
        #expect(ledger.admit(key(3), content: [1]) == .refused(.opExpired))
        #expect(ledger.inquire(key(3)) == .expired)
    }

    @Test("one asks the store about an operation, the others wait; an answer that was overtaken is not believed")
    func oneAsks() {
        var ledger = ledger(highest: 10)
        #expect(ledger.admit(key(3), content: [1]) == .needsReceipt)
        #expect(ledger.admit(key(3), content: [1]) == .underWay)
        #expect(ledger.inquire(key(3)) == .underWay)
        ledger.record(receipt(key(3), .done), for: key(3))
        ledger.learn(.receipt(receipt(key(3), .started), content: [1]), for: key(3))
        #expect(ledger.inquire(key(3)) == .known(repeated(receipt(key(3), .done))))
        ledger.learn(.nothing(bounds()), for: key(3))
        #expect(ledger.inquire(key(3)) == .known(repeated(receipt(key(3), .done))))
    }

    @Test("when the store cannot be asked, the next one asks")
    func askedInVain() {
        var ledger = ledger(highest: 10)
        #expect(ledger.inquire(key(3)) == .needsReceipt)
        ledger.abandon(key(3))
        #expect(ledger.inquire(key(3)) == .needsReceipt)
    }
}
