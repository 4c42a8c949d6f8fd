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

    /// What is said of an operation that is refused as `opSettled`.
    static let settledSentence = "this operation was settled as never sent"

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
            case .needsBounds: try await learnBounds(of: key.device)
            case .needsReceipt: try await lookUp(key)
            case .underWay:
                await wait(for: key)
                if Task.isCancelled { return .refused(.busy) }
            }
        }
    }

    private func learnBounds(of device: NodeID) async throws(StoreError) {
        let bounds = try await store.operationBounds(of: device)
        state.withLock { $0.ledger.learn(bounds, of: device) }
    }

    private func lookUp(_ key: OperationKey) async throws(StoreError) {
        do throws(StoreError) {
            let found = try await found(key)
            let waiters = state.withLock { state in
                state.ledger.learn(found, for: key)
                return state.takeWaiters(for: key)
            }
            for waiter in waiters { waiter.resume() }
        } catch {
            abandon(key)
            throw error
        }
    }

    /// A receipt that cannot be read is as good as none; that the operation is old is still known. A prompt that was never ended
    /// and whose session is not there any more was lost with it: a deletion would have ended it.
    private func found(_ key: OperationKey) async throws(StoreError) -> ReceiptLedger.Found {
        if let row = try await store.receipt(key.id, of: key.device), let receipt = DaemonMessage.Receipt(in: row) {
            let end = row.staysWithSession == nil ? receipt.lost(at: row.at) : nil
            return .receipt(end ?? receipt, content: row.content)
        }
        return .nothing(try await store.operationBounds(of: key.device))
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

    /// What became of an operation; `absent` when it was never stored, an error when nobody knows. Waits while it is under way; nil
    /// when the task is cancelled meanwhile.
    func find(_ key: OperationKey, at wall: WallTime) async throws(StoreError) -> DaemonMessage.Receipt? {
        while true {
            switch state.withLock({ $0.ledger.inquire(key) }) {
            case .known(let receipt): return receipt
            case .absent:
                // A crash may bring it back.
                if let doubt = await store.doubt() { throw doubt }
                return .absent(key.id, at: wall)
            case .expired: return .unknowable(key.id, .opExpired, at: wall)
            case .needsBounds: try await learnBounds(of: key.device)
            case .needsReceipt: try await lookUp(key)
            case .underWay:
                await wait(for: key)
                if Task.isCancelled { return nil }
            }
        }
    }

    /// The same, and an operation that was never stored is made impossible: should it still arrive, it is refused.
    func settle(_ key: OperationKey, at wall: WallTime) async throws(StoreError) -> DaemonMessage.Receipt? {
        switch try await admit(key, content: ReceiptLedger.settling) {
        case .known(let receipt): return receipt
        case .refused(.opConflict): return try await find(key, at: wall)
        case .refused(.busy): return nil
        case .refused(let code): return .unknowable(key.id, code, at: wall)
        case .fresh:
            let receipt = DaemonMessage.Receipt(
                operation: key.id, state: .refused, isRepeat: false, code: .opSettled,
                message: Self.settledSentence, at: wall)
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
            return .absent(key.id, at: wall)
        }
    }

    var remembered: Int { state.withLock { $0.ledger.remembered } }

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
    fileprivate static func absent(_ operation: OperationID, at wall: WallTime) -> Self {
        Self(operation: operation, state: .absent, isRepeat: false, at: wall)
    }

    fileprivate static func unknowable(_ operation: OperationID, _ code: ErrorCode, at wall: WallTime) -> Self {
        Self(
            operation: operation, state: .refused, isRepeat: true, code: code,
            message: "the operation was settled, or is too old to know", at: wall)
    }
}
