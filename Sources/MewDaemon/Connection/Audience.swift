package import MewWire
import Synchronization

/// Everybody who is authenticated: what is marked A goes here (spec/mew-wire.md §0.2, spec/native-wire.md §1).
package final class Audience: Sendable {
    private let outboxes = Mutex<[ConnectionNumber: Outbox]>([:])

    package init() {}

    /// Queues `message` for everyone: on the first channel of native links, on the only one of stock links. Never waits.
    package func broadcast(_ message: DaemonMessage) {
        let frame = DaemonFrame(message)
        // In the order of arrival, so that two runs of one simulation do the same.
        for (_, outbox) in outboxes.withLock({ $0.sorted { $0.key < $1.key } }) { outbox.broadcast(frame) }
    }

    func join(_ number: ConnectionNumber, _ outbox: Outbox) {
        outboxes.withLock { $0[number] = outbox }
    }

    func leave(_ number: ConnectionNumber) {
        outboxes.withLock { $0[number] = nil }
    }
}
