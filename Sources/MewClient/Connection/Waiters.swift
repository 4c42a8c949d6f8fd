internal import MewWire

/// Who waits for which answer. At most 32 at a time, each with a deadline of its own.
struct Waiters {
    struct Waiter: Sendable {
        let ref: String
        /// True for the answer. On native links `ref` decides; on stock links only the type can.
        let matches: @Sendable (DaemonMessage) -> Bool
        let answer: Feed<Result<DaemonMessage, ClientError>>
    }

    static let capacity = 32

    private var waiting: [Waiter] = []
    private var number: UInt64 = 0

    /// Nil when too many wait already.
    mutating func add(_ matches: @escaping @Sendable (DaemonMessage) -> Bool) -> Waiter? {
        guard waiting.count < Self.capacity else { return nil }
        number += 1
        let waiter = Waiter(ref: "r\(number)", matches: matches, answer: Feed(capacity: 1))
        waiting.append(waiter)
        return waiter
    }

    mutating func remove(_ ref: String) {
        waiting.removeAll { $0.ref == ref }
    }

    /// Hands the frame to whom it answers. Natively replies carry their `ref`; a stock `error` goes to whoever asked first, because
    /// a stock daemon answers in order.
    mutating func take(_ frame: DaemonFrame, isNative: Bool) {
        let index: Int?
        if isNative {
            index = waiting.firstIndex { waiter in
                frame.ref == waiter.ref && (frame.message.kind == .error || waiter.matches(frame.message))
            }
        } else if frame.message.kind == .error {
            index = waiting.isEmpty ? nil : 0
        } else {
            index = waiting.firstIndex { $0.matches(frame.message) }
        }
        guard let index else { return }
        let waiter = waiting.remove(at: index)
        if case .error(let error) = frame.message {
            waiter.answer.offerLast(.failure(ClientError(error)))
        } else {
            waiter.answer.offerLast(.success(frame.message))
        }
    }

    mutating func failAll(_ error: ClientError) {
        for waiter in waiting { waiter.answer.offerLast(.failure(error)) }
        waiting = []
    }
}
