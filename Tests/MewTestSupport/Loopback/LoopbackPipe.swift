import MewWire
import Synchronization

/// One direction of a loopback channel: a queue of messages bounded in bytes, one reader, writers served in order.
///
/// A lock and not an actor, so that a cancelled waiter leaves at once and no task is needed for it.
final class LoopbackPipe: Sendable {
    typealias Received = Result<[UInt8]?, ChannelError>
    typealias Sent = Result<Void, ChannelError>

    fileprivate struct Writer {
        let ticket: UInt64
        let message: [UInt8]
        let waiter: CheckedContinuation<Sent, Never>
    }

    fileprivate struct State {
        var queue: [[UInt8]] = []
        var queuedBytes = 0
        var writers: [Writer] = []
        var reader: CheckedContinuation<Received, Never>?
        /// What the reader gets once everything queued is read.
        var readEnd: Received?
        /// What every further send gets.
        var writeEnd: ChannelError?
        var nextTicket: UInt64 = 0
    }

    /// A message enters while fewer bytes than this are queued; so one message may overshoot, as a single large one must.
    private let capacityBytes: Int
    private let state = Mutex(State())

    init(capacityBytes: Int) {
        self.capacityBytes = capacityBytes
    }

    var queuedBytes: Int { state.withLock { $0.queuedBytes } }

    // MARK: Writing

    func send(_ message: [UInt8]) async throws(ChannelError) {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: CheckedContinuation<Sent, Never>) in
                state.withLock { $0.enqueue(.init(ticket: ticket, message: message, waiter: waiter), capacityBytes) }
            }
        } onCancel: {
            state.withLock { $0.cancelWriter(ticket) }
        }
        try result.get()
    }

    func finish() {
        state.withLock { state in
            guard state.writeEnd == nil else { return }
            state.writeEnd = .finished
            state.readEnd = .success(nil)
            state.serve(capacityBytes)
        }
    }

    // MARK: Reading

    func receive() async throws(ChannelError) -> [UInt8]? {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: CheckedContinuation<Received, Never>) in
                state.withLock { state in
                    precondition(state.reader == nil, "a channel has one reader")
                    guard !Task.isCancelled else { return waiter.resume(returning: .failure(.cancelled)) }
                    state.reader = waiter
                    state.serve(capacityBytes)
                }
            }
        } onCancel: {
            state.withLock { state in
                state.reader?.resume(returning: .failure(.cancelled))
                state.reader = nil
            }
        }
        return try result.get()
    }

    // MARK: Ends

    /// Stops both ends at once.
    ///
    /// - Parameter keepQueued: what was handed over before may still be read.
    func fail(reader: ChannelError, writer: ChannelError, keepQueued: Bool) {
        state.withLock { state in
            // A side that ended cleanly and was read to its end stays ended cleanly.
            if state.readEnd == nil || !keepQueued { state.readEnd = .failure(reader) }
            state.writeEnd = writer
            for waiting in state.writers { waiting.waiter.resume(returning: .failure(writer)) }
            state.writers = []
            if !keepQueued {
                state.queue = []
                state.queuedBytes = 0
            }
            state.serve(capacityBytes)
        }
    }
}

extension LoopbackPipe.State {
    fileprivate mutating func enqueue(_ writer: LoopbackPipe.Writer, _ capacityBytes: Int) {
        // Cancelled before it came to wait: the handler ran and found nobody.
        guard !Task.isCancelled else { return writer.waiter.resume(returning: .failure(.cancelled)) }
        if let writeEnd { return writer.waiter.resume(returning: .failure(writeEnd)) }
        writers.append(writer)
        serve(capacityBytes)
    }

    fileprivate mutating func cancelWriter(_ ticket: UInt64) {
        guard let index = writers.firstIndex(where: { $0.ticket == ticket }) else { return }
        writers.remove(at: index).waiter.resume(returning: .failure(.cancelled))
    }

    /// Lets writers in while there is room, and the reader take what there is.
    fileprivate mutating func serve(_ capacityBytes: Int) {
        admit(capacityBytes)
        guard let waiting = reader else { return }
        if !queue.isEmpty {
            let message = queue.removeFirst()
            queuedBytes -= message.count
            reader = nil
            waiting.resume(returning: .success(message))
            admit(capacityBytes)
        } else if let readEnd {
            reader = nil
            waiting.resume(returning: readEnd)
        }
    }

    private mutating func admit(_ capacityBytes: Int) {
        while let writer = writers.first, queuedBytes < capacityBytes {
            writers.removeFirst()
            queue.append(writer.message)
            queuedBytes += writer.message.count
            writer.waiter.resume(returning: .success(()))
        }
    }
}
