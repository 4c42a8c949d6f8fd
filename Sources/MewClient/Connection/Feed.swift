internal import Synchronization

/// A bounded queue from the connection to one reader: what an app draws from, or a command prints.
///
/// A full feed suspends whoever sends, and so stops the reading of the channel the events come from: the daemon then sees
/// a slow client and skips ahead (`gap`), and nothing piles up here. One reader; any number of senders. An unread feed must
/// be cancelled, or it holds its channel for ever.
public final class Feed<Element: Sendable>: AsyncSequence, Sendable {
    /// Events that wait for the reader. A screenful of deltas is a few hundred; each is at most a frame.
    public static var usualCapacity: Int { 1_024 }

    private struct State {
        var buffer: [Element] = []
        /// Elements of `buffer` that are taken already; compacted when they are the larger half.
        var taken = 0
        var isFinished = false
        var reader: CheckedContinuation<Element?, Never>?
        var senders: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var nextSender: UInt64 = 0

        var count: Int { buffer.count - taken }

        mutating func pop() -> Element? {
            guard taken < buffer.count else { return nil }
            let element = buffer[taken]
            taken += 1
            if taken * 2 > buffer.count {
                buffer.removeFirst(taken)
                taken = 0
            }
            return element
        }
    }

    private let state = Mutex(State())
    private let capacity: Int

    public init(capacity: Int = Feed.usualCapacity) {
        precondition(capacity > 0, "a feed without room would never move")
        self.capacity = capacity
    }

    // MARK: Sending

    /// Suspends while the feed is full. False when it has ended: the reader has gone.
    @discardableResult
    package func send(_ element: Element) async -> Bool {
        while true {
            switch offer(element) {
            case .taken: return true
            case .ended: return false
            case .full: if await waitForRoom() == false { return false }
            }
        }
    }

    /// Puts in the last element without waiting, and ends the feed. Dropped when there is no room or the feed has ended.
    package func offerLast(_ element: Element) {
        _ = offer(element)
        finish()
    }

    /// Puts in an element without waiting; false when there is no room or the feed has ended.
    @discardableResult
    package func offerNow(_ element: Element) -> Bool { offer(element) == .taken }

    private enum Offer { case taken, full, ended }

    private func offer(_ element: Element) -> Offer {
        let (result, reader) = state.withLock { state -> (Offer, CheckedContinuation<Element?, Never>?) in
            if state.isFinished { return (.ended, nil) }
            if let reader = state.reader {
                state.reader = nil
                return (.taken, reader)
            }
            guard state.count < capacity else { return (.full, nil) }
            state.buffer.append(element)
            return (.taken, nil)
        }
        reader?.resume(returning: element)
        return result
    }

    /// False when the feed ended or this task was cancelled.
    private func waitForRoom() async -> Bool {
        let number = state.withLock { state in
            state.nextSender += 1
            return state.nextSender
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Room may have come, and the feed may have ended, before this closure ran.
                let answer = state.withLock { state -> Bool? in
                    if state.isFinished || Task.isCancelled { return false }
                    if state.count < capacity { return true }
                    state.senders[number] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.senders.removeValue(forKey: number) }?.resume(returning: false)
        }
    }

    // MARK: Reading

    /// Nil when the feed has ended and is drained, or the reading task is cancelled.
    public func next() async -> Element? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (outcome, sender) = state.withLock { state in Self.take(from: &state, for: continuation) }
                sender?.resume(returning: true)
                switch outcome {
                case .element(let element): continuation.resume(returning: element)
                case .ended: continuation.resume(returning: nil)
                case .waiting: break
                }
            }
        } onCancel: {
            let reader = state.withLock { state in
                defer { state.reader = nil }
                return state.reader
            }
            reader?.resume(returning: nil)
        }
    }

    private enum Taken {
        case element(Element)
        case ended
        /// The continuation is kept.
        case waiting
    }

    /// Whoever takes an element out lets one sender in: in one step, or a sender would sleep beside an empty buffer.
    private static func take(
        from state: inout State, for reader: CheckedContinuation<Element?, Never>
    ) -> (Taken, CheckedContinuation<Bool, Never>?) {
        if let element = state.pop() {
            let sender = state.senders.first?.key
            return (.element(element), sender.flatMap { state.senders.removeValue(forKey: $0) })
        }
        if state.isFinished || Task.isCancelled { return (.ended, nil) }
        precondition(state.reader == nil, "a feed has one reader")
        state.reader = reader
        return (.waiting, nil)
    }

    /// Ends the feed: what is in it can still be read; senders are let go. Idempotent.
    public func finish() {
        let (reader, senders) = state.withLock { state in
            state.isFinished = true
            defer {
                state.reader = nil
                state.senders = [:]
            }
            return (state.reader, Array(state.senders.values))
        }
        reader?.resume(returning: nil)
        for sender in senders { sender.resume(returning: false) }
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let feed: Feed

        public mutating func next() async -> Element? { await feed.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? { await feed.next() }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: self) }
}
