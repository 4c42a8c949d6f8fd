internal import MewBase
internal import MewIdentity
internal import MewSession
internal import MewWire

/// A promise that a daemon breaks, so that it shows whether the laws notice. Made by changing what the daemon is told: its own code
/// is the one that is shipped.
package enum DaemonFault: String, Sendable, CaseIterable {
    /// A question that settles makes nothing impossible: the late original still runs.
    case forgetsSettled = "forgets-settled"
    /// A prompt that it has and that comes again is a new one.
    case takesTwice = "takes-twice"
}

/// What a broken daemon is told in the place of what its devices say.
struct BrokenDaemon: Sendable {
    private let fault: DaemonFault
    private let store: any SessionStore

    /// - Parameter store: of this life of the daemon.
    init(_ fault: DaemonFault, store: any SessionStore) { (self.fault, self.store) = (fault, store) }

    func takes(_ message: [UInt8], from device: NodeID) async -> [UInt8] {
        guard case .decoded(let frame) = ClientFrame.decode(message, from: .native) else { return message }
        let changed =
            switch fault {
            case .forgetsSettled: Self.withoutSettling(frame)
            case .takesTwice: await asNew(frame, from: device)
            }
        return changed?.encoded(for: .native) ?? message
    }

    private static func withoutSettling(_ frame: ClientFrame) -> ClientFrame? {
        guard case .receiptQuery(var query) = frame.message, query.settle else { return nil }
        query.settle = false
        var changed = frame
        changed.message = .receiptQuery(query)
        return changed
    }

    /// Nil when the daemon does not have it, or has settled it: that promise is kept. A disk that cannot be read tells nothing.
    private func asNew(_ frame: ClientFrame, from device: NodeID) async -> ClientFrame? {
        guard case .prompt = frame.message, let operation = frame.operation,
            let known = try? await store.receipt(operation, of: device), known.content != ReceiptLedger.settling
        else { return nil }
        var changed = frame
        changed.envelope.operation = OperationID(operation.ulid.successor)
        return changed
    }
}
