internal import Synchronization

/// A bounded queue from the connection to one reader: what an app draws from, or a command prints.
///
/// A full feed suspends whoever sends, and so stops the reading of the channel the events come from: the daemon then sees
/// a slow client and skips ahead (`gap`), and nothing piles up here. One reader; any number of senders. An unread feed must
/// be cancelled, or it holds its channel for ever.
public final class Feed<Element: Sendable>: AsyncSequence, Sendable {
    /// Events that wait for the reader. A screenful of deltas is a few hundred; each is at most a frame.
    public static var usualCapacity: Int { 1_024 }

    /// Waits with its element until there is room. Whoever makes room puts the element in, so that no wake-up can be lost and
    /// nobody overtakes.
    private struct Sender {
        let number: UInt64
        let element: Element
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var buffer: [Element] = []
        /// Elements of `buffer` that are taken already; compacted when they are the larger half.
        var taken = 0
        var isFinished = false
        var reader: CheckedContinuation<Element?, Never>?
        /// The one that waits longest first; nobody waits while there is room.
        var senders: [Sender] = []
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

        /// Also returns the reader to whom the element must be handed.
        mutating func put(_ element: Element, upTo capacity: Int) -> (Offer, CheckedContinuation<Element?, Never>?) {
            if isFinished { return (.ended, nil) }
            if let reader {
                self.reader = nil
                return (.taken, reader)
            }
            guard count < capacity else { return (.full, nil) }
            buffer.append(element)
            return (.taken, nil)
        }
    }

    private enum Offer { case taken, full, ended }

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
        switch offer(element, upTo: capacity) {
        case .taken: true
        case .ended: false
        case .full: await wait(with: element)
        }
    }

    /// Puts in an element without waiting, beyond the capacity if need be: for the few that the reader itself may cause, which
    /// would wait for itself. False when the feed has ended.
    @discardableResult
    package func post(_ element: Element) -> Bool { offer(element, upTo: .max) == .taken }

    /// Puts in the last element without waiting, and ends the feed. Dropped when there is no room or the feed has ended.
    package func offerLast(_ element: Element) {
        _ = offer(element, upTo: capacity)
        finish()
    }

    /// Puts in an element without waiting; false when there is no room or the feed has ended.
    @discardableResult
    package func offerNow(_ element: Element) -> Bool { offer(element, upTo: capacity) == .taken }

    private func offer(_ element: Element, upTo capacity: Int) -> Offer {
        let (result, reader) = state.withLock { $0.put(element, upTo: capacity) }
        reader?.resume(returning: element)
        return result
    }

    /// For tests.
    var waitingSenders: Int { state.withLock { $0.senders.count } }
    /// For tests: somebody waits for an element.
    var isAwaited: Bool { state.withLock { $0.reader != nil } }

    /// False when the feed ended or this task was cancelled.
    private func wait(with element: Element) async -> Bool {
        let number = state.withLock { state in
            state.nextSender += 1
            return state.nextSender
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Room may have come, and the feed may have ended, before this closure ran.
                let (offer, reader) = state.withLock { state -> (Offer, CheckedContinuation<Element?, Never>?) in
                    if Task.isCancelled { return (.ended, nil) }
                    let (offer, reader) = state.put(element, upTo: capacity)
                    if offer == .full {
                        state.senders.append(Sender(number: number, element: element, continuation: continuation))
                    }
                    return (offer, reader)
                }
                reader?.resume(returning: element)
                if offer != .full { continuation.resume(returning: offer == .taken) }
            }
        } onCancel: {
            let sender = state.withLock { state -> Sender? in
                guard let index = state.senders.firstIndex(where: { $0.number == number }) else { return nil }
                return state.senders.remove(at: index)
            }
            sender?.continuation.resume(returning: false)
        }
    }

    // MARK: Reading

    /// Nil when the feed has ended and is drained, or the reading task is cancelled.
    public func next() async -> Element? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (outcome, sender) = state.withLock { state in take(from: &state, for: continuation) }
                sender?.continuation.resume(returning: true)
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

    /// Also returns the sender whose element went in instead.
    private func take(
        from state: inout State, for reader: CheckedContinuation<Element?, Never>
    ) -> (Taken, Sender?) {
        if let element = state.pop() {
            guard state.count < capacity, !state.senders.isEmpty else { return (.element(element), nil) }
            let sender = state.senders.removeFirst()
            state.buffer.append(sender.element)
            return (.element(element), sender)
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
                state.senders = []
            }
            return (state.reader, state.senders)
        }
        reader?.resume(returning: nil)
        for sender in senders { sender.continuation.resume(returning: false) }
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let feed: Feed

        public mutating func next() async -> Element? { await feed.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? { await feed.next() }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: self) }
}
