import MewIdentity
import MewSession
import MewWire
internal import Synchronization

/// The one `ReceiptLedger` of the daemon, with the store behind it and those who wait for an operation that is under way.
final class OperationLedger: Sendable {
    private struct State {
        var ledger = ReceiptLedger()
        var waiters: [OperationKey: [UInt64: CheckedContinuation<Void, Never>]] = [:]
        var waiterNumber: UInt64 = 0

        mutating func takeWaiters(for key: OperationKey) -> [CheckedContinuation<Void, Never>] {
            (waiters.removeValue(forKey: key) ?? [:]).sorted { $0.key < $1.key }.map(\.value)
        }
    }

    /// What a channel does with an operation.
    enum Admission {
        /// Do it; then `record` or `abandon`.
        case fresh
        case known(DaemonMessage.Receipt)
        case refused(ErrorCode)
    }

    private let state = Mutex(State())
    private let store: any SessionStore

    init(store: any SessionStore) {
        self.store = store
    }

    /// Asks the store as far as needed, and waits while the same operation is under way on another channel.
    func admit(_ key: OperationKey, content: [UInt8]) async throws(StoreError) -> Admission {
        while true {
            switch state.withLock({ $0.ledger.admit(key, content: content) }) {
            case .fresh: return .fresh
            case .known(let receipt): return .known(receipt)
            case .refused(let code): return .refused(code)
            case .needsBounds:
                let bounds = try await store.operationBounds(of: key.device)
                state.withLock { $0.ledger.learn(bounds, of: key.device) }
            case .needsReceipt:
                let row = try await store.receipt(key.id, of: key.device)
                let receipt = row.flatMap { Self.receipt(in: $0) }
                state.withLock { $0.ledger.learn(receipt, content: row?.content ?? [], for: key) }
            case .underWay:
                await wait(for: key)
                if Task.isCancelled { return .refused(.busy) }
            }
        }
    }

    /// The receipt is on the disk.
    func record(_ receipt: DaemonMessage.Receipt, for key: OperationKey) {
        let waiters = state.withLock { state in
            state.ledger.record(receipt, for: key)
            return state.takeWaiters(for: key)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Nothing was saved.
    func abandon(_ key: OperationKey) {
        let waiters = state.withLock { state in
            state.ledger.abandon(key)
            return state.takeWaiters(for: key)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// What became of an operation; nil when it was never stored. Waits while it is under way.
    func find(_ key: OperationKey) async throws(StoreError) -> DaemonMessage.Receipt? {
        while true {
            if state.withLock({ $0.ledger.isUnderWay(key) }) {
                await wait(for: key)
                if Task.isCancelled { return nil }
                continue
            }
            if let receipt = state.withLock({ $0.ledger.receipt(of: key) }) { return receipt.repeated }
            return try await store.receipt(key.id, of: key.device).flatMap { Self.receipt(in: $0)?.repeated }
        }
    }

    /// The same, and an operation that was never stored is made impossible: should it still arrive, it is refused.
    ///
    /// Returns nil when that was so.
    func settle(_ key: OperationKey, at wall: WallTime) async throws(StoreError) -> DaemonMessage.Receipt? {
        switch try await admit(key, content: ReceiptLedger.settling) {
        case .known(let receipt): return receipt
        case .refused(.opConflict): return try await find(key)
        case .refused(let code):
            return DaemonMessage.Receipt(
                operation: key.id, state: .refused, isRepeat: true, code: code,
                message: "the operation was settled, or is too old to know", at: wall)
        case .fresh:
            let receipt = DaemonMessage.Receipt(
                operation: key.id, state: .refused, isRepeat: false, code: .opSettled,
                message: "this operation was settled as never sent", at: wall)
            do throws(StoreError) {
                try await store.commit([
                    .putReceipt(
                        ReceiptRow(
                            device: key.device, operation: key.id, staysWithSession: nil, at: wall,
                            content: ReceiptLedger.settling, body: receipt.encoded()))
                ])
            } catch {
                abandon(key)
                throw error
            }
            record(receipt, for: key)
            return nil
        }
    }

    var remembered: Int { state.withLock { $0.ledger.remembered } }

    private static func receipt(in row: ReceiptRow) -> DaemonMessage.Receipt? {
        // A receipt that cannot be read is as good as none; that the operation is old is still known.
        guard let json = try? JSON(parsing: row.body) else { return nil }
        return try? DaemonMessage.Receipt.decode(json)
    }

    private func wait(for key: OperationKey) async {
        let number = state.withLock { state in
            state.waiterNumber += 1
            return state.waiterNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let goesOn = state.withLock { state in
                    guard state.ledger.isUnderWay(key), !Task.isCancelled else { return true }
                    state.waiters[key, default: [:]][number] = waiter
                    return false
                }
                if goesOn { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters[key]?.removeValue(forKey: number) }?.resume()
        }
    }
}

extension DaemonMessage.Receipt {
    fileprivate var repeated: DaemonMessage.Receipt {
        var receipt = self
        receipt.isRepeat = true
        return receipt
    }
}
