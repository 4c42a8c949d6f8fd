import MewBase
import MewIdentity
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

// Four channels of two devices, a store that answers and commits when it likes, receipts that are dropped, restarts. The ledger
// remembers four receipts of a device, so that the store is asked all the time. Laws: an operation is carried out at most once;
// a receipt that was told only moves on; what was carried out is never told as absent; what was settled as absent is never
// carried out.

@Suite("the ledger against a model, at random")
struct LedgerModelTests {
    @Test("4,000 interleavings of 250 steps", arguments: 0..<20)
    func interleavings(block: UInt64) {
        for seed in (block * 200)..<(block * 200 + 200) {
            var run = LedgerRun(seed: seed)
            for _ in 0..<250 { run.step() }
            guard run.broken.isEmpty else {
                Issue.record("seed \(seed): \(run.broken)")
                return
            }
        }
    }

    @Test("the interleavings reach every answer of the ledger")
    func reach() {
        var words: Set<String> = []
        for seed in 0..<400 as Range<UInt64> {
            var run = LedgerRun(seed: seed)
            for _ in 0..<250 { run.step() }
            words.formUnion(run.told)
        }
        #expect(
            words.sorted() == [
                "absent", "expired", "fresh", "known", "needs_bounds", "needs_receipt", "op_conflict", "op_expired",
                "op_settled", "under_way",
            ])
    }
}

private struct LedgerRun {
    /// What a channel is about.
    private enum Wish { case perform, settle, ask }

    private enum Channel {
        case idle
        case going(Wish, OperationKey, content: [UInt8])
        /// The store was read, and its answer is on its way.
        case boundsRead(Wish, OperationKey, content: [UInt8], OperationBounds)
        case receiptRead(Wish, OperationKey, content: [UInt8], ReceiptLedger.Found)
        /// The commit may be on the disk, and this channel does not know yet.
        case committing(Wish, OperationKey, content: [UInt8])
        case committed(Wish, OperationKey, DaemonMessage.Receipt)
    }

    private struct Stored {
        var receipt: DaemonMessage.Receipt
        let content: [UInt8]
    }

    private var random: SeededGenerator
    private var ledger = ReceiptLedger(rememberedPerDevice: 4)
    private var channels = [Channel](repeating: .idle, count: 4)
    private var store: [OperationKey: Stored] = [:]
    private var highest: [NodeID: OperationID] = [:]
    private var evicted: [NodeID: OperationID] = [:]
    /// A later receipt that is on the disk and not recorded yet.
    private var advanced: (OperationKey, DaemonMessage.Receipt)?

    /// What was carried out, ever.
    private var carriedOut: Set<OperationKey> = []
    private var settledAbsent: Set<OperationKey> = []
    /// How far the receipts that were told have come.
    private var toldRank: [OperationKey: Int] = [:]
    private(set) var told: Set<String> = []
    private(set) var broken: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    private func rank(_ state: ReceiptState) -> Int {
        switch state {
        case .absent: 0
        case .stored: 1
        case .started: 2
        case .done, .refused: 3
        }
    }

    private func receipt(
        _ key: OperationKey, _ state: ReceiptState, _ code: ErrorCode? = nil
    ) -> DaemonMessage.Receipt {
        .init(operation: key.id, state: state, isRepeat: false, code: code, at: WallTime(milliseconds: 1))
    }

    mutating func step() {
        switch random.below(60) {
        case 0: restart()
        case 1: evict()
        case 2...5: advance()
        default: move(Int(random.below(UInt64(channels.count))))
        }
    }

    // MARK: - Channels

    private mutating func move(_ index: Int) {
        switch channels[index] {
        case .idle: begin(index)
        case .going(let wish, let key, let content): ask(index, wish, key, content)
        case .boundsRead(let wish, let key, let content, let bounds):
            ledger.learn(bounds, of: key.device)
            channels[index] = .going(wish, key, content: content)
        case .receiptRead(let wish, let key, let content, let found):
            if random.below(8) == 0 { ledger.abandon(key) } else { ledger.learn(found, for: key) }
            channels[index] = .going(wish, key, content: content)
        case .committing(let wish, let key, let content): commit(index, wish, key, content)
        case .committed(_, let key, let receipt):
            ledger.record(receipt, for: key)
            tell(receipt, key)
            channels[index] = .idle
        }
    }

    private mutating func begin(_ index: Int) {
        let device = CoreBench.node(UInt8(1 + random.below(2)))
        let key = OperationKey(device: device, id: OperationID(ULID(high: 1, low: 1 + random.below(12))))
        let wish: Wish = [.perform, .perform, .settle, .ask, .ask][Int(random.below(5))]
        let content: [UInt8] = wish == .settle ? ReceiptLedger.settling : [random.below(8) == 0 ? 2 : 1]
        channels[index] = .going(wish, key, content: content)
    }

    private mutating func ask(_ index: Int, _ wish: Wish, _ key: OperationKey, _ content: [UInt8]) {
        switch wish {
        case .perform, .settle: admit(index, wish, key, content)
        case .ask: inquire(index, key)
        }
    }

    private mutating func admit(_ index: Int, _ wish: Wish, _ key: OperationKey, _ content: [UInt8]) {
        switch ledger.admit(key, content: content) {
        case .fresh:
            told.insert("fresh")
            channels[index] = .committing(wish, key, content: content)
        case .known(let receipt):
            told.insert("known")
            tell(receipt, key)
            channels[index] = .idle
        case .refused(let code):
            told.insert(code.rawValue)
            let mayHaveExpired = evicted[key.device].map { key.id <= $0 } ?? false
            if code == .opExpired, !mayHaveExpired { broken.append("\(key.id) expired too early") }
            channels[index] = .idle
        case .needsBounds: readBounds(index, wish, key, content)
        case .needsReceipt: readReceipt(index, wish, key, content)
        case .underWay: told.insert("under_way")
        }
    }

    private mutating func inquire(_ index: Int, _ key: OperationKey) {
        switch ledger.inquire(key) {
        case .known(let receipt):
            told.insert("known")
            tell(receipt, key)
            channels[index] = .idle
        case .absent:
            told.insert("absent")
            if carriedOut.contains(key) { broken.append("\(key.id) was carried out and told as absent") }
            channels[index] = .idle
        case .expired:
            told.insert("expired")
            channels[index] = .idle
        case .needsBounds: readBounds(index, .ask, key, [])
        case .needsReceipt: readReceipt(index, .ask, key, [])
        case .underWay: told.insert("under_way")
        }
    }

    private mutating func readBounds(_ index: Int, _ wish: Wish, _ key: OperationKey, _ content: [UInt8]) {
        told.insert("needs_bounds")
        channels[index] = .boundsRead(wish, key, content: content, bounds(key.device))
    }

    private mutating func readReceipt(_ index: Int, _ wish: Wish, _ key: OperationKey, _ content: [UInt8]) {
        told.insert("needs_receipt")
        let found: ReceiptLedger.Found =
            store[key].map { .receipt($0.receipt, content: $0.content) } ?? .nothing(bounds(key.device))
        channels[index] = .receiptRead(wish, key, content: content, found)
    }

    private func bounds(_ device: NodeID) -> OperationBounds {
        OperationBounds(highest: highest[device], highestEvicted: evicted[device])
    }

    // MARK: - The store

    private mutating func commit(_ index: Int, _ wish: Wish, _ key: OperationKey, _ content: [UInt8]) {
        guard random.below(6) > 0 else {
            ledger.abandon(key)
            channels[index] = .idle
            return
        }
        let receipt = put(wish, key, content)
        channels[index] = .committed(wish, key, receipt)
    }

    private mutating func put(_ wish: Wish, _ key: OperationKey, _ content: [UInt8]) -> DaemonMessage.Receipt {
        let isSettling = wish == .settle
        if store[key] != nil { broken.append("\(key.id) was stored a second time") }
        if isSettling {
            settledAbsent.insert(key)
        } else {
            if !carriedOut.insert(key).inserted { broken.append("\(key.id) was carried out twice") }
            if settledAbsent.contains(key) { broken.append("\(key.id) was settled and carried out") }
        }
        if isSettling, carriedOut.contains(key) { broken.append("\(key.id) was carried out and settled as absent") }
        let receipt = isSettling ? receipt(key, .refused, .opSettled) : receipt(key, .stored)
        store[key] = Stored(receipt: receipt, content: content)
        highest[key.device] = max(highest[key.device] ?? key.id, key.id)
        return receipt
    }

    /// A prompt goes on: first on the disk, later in the ledger.
    private mutating func advance() {
        if let (key, receipt) = advanced {
            ledger.record(receipt, for: key)
            tell(receipt, key)
            advanced = nil
            return
        }
        let known = channels.compactMap { channel -> OperationKey? in
            if case .committed(_, let key, _) = channel { key } else { nil }
        }
        let open = store.filter { rank($0.value.receipt.state) < 3 && !known.contains($0.key) }.keys
            .sorted { ($0.device, $0.id) < ($1.device, $1.id) }
        guard !open.isEmpty else { return }
        let key = open[Int(random.below(UInt64(open.count)))]
        let next = receipt(key, store[key]?.receipt.state == .stored ? .started : .done)
        store[key]?.receipt = next
        advanced = (key, next)
    }

    private mutating func evict() {
        let old = store.filter { rank($0.value.receipt.state) == 3 && advanced?.0 != $0.key }.keys
            .min { ($0.device, $0.id) < ($1.device, $1.id) }
        guard let old else { return }
        store[old] = nil
        evicted[old.device] = max(evicted[old.device] ?? old.id, old.id)
    }

    /// Commits that were under way are on the disk, or are not.
    private mutating func restart() {
        for case .committing(let wish, let key, let content) in channels where random.below(2) == 0 {
            _ = put(wish, key, content)
        }
        ledger = ReceiptLedger(rememberedPerDevice: 4)
        channels = channels.map { _ in .idle }
        advanced = nil
    }

    // MARK: - Laws

    private mutating func tell(_ receipt: DaemonMessage.Receipt, _ key: OperationKey) {
        let rank = rank(receipt.state)
        if rank < toldRank[key, default: 0] { broken.append("\(key.id) went back to \(receipt.state.rawValue)") }
        toldRank[key] = rank
        if let stored = store[key], rank > self.rank(stored.receipt.state) {
            broken.append("\(key.id) was told before it was stored")
        }
    }
}
