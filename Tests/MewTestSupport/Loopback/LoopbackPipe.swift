import MewWire
import Synchronization

/// One direction of a loopback channel: a queue of messages bounded in bytes, one reader, writers served in order.
///
/// A lock and not an actor, so that a cancelled waiter leaves at once and no task is needed for it. Nobody is resumed under the
/// lock: cancelling holds the lock of the task and then takes ours, so resuming, which takes the lock of the task, must not
/// hold ours.
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
                perform { $0.enqueue(.init(ticket: ticket, message: message, waiter: waiter), capacityBytes) }
            }
        } onCancel: {
            perform { $0.cancelWriter(ticket) }
        }
        try result.get()
    }

    func finish() {
        perform { state in
            guard state.writeEnd == nil else { return [] }
            state.writeEnd = .finished
            state.readEnd = .success(nil)
            return state.serve(capacityBytes)
        }
    }

    // MARK: Reading

    func receive() async throws(ChannelError) -> [UInt8]? {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: CheckedContinuation<Received, Never>) in
                perform { state in
                    precondition(state.reader == nil, "a channel has one reader")
                    guard !Task.isCancelled else { return [.reader(waiter, .failure(.cancelled))] }
                    state.reader = waiter
                    return state.serve(capacityBytes)
                }
            }
        } onCancel: {
            perform { state in
                defer { state.reader = nil }
                return state.reader.map { [.reader($0, .failure(.cancelled))] } ?? []
            }
        }
        return try result.get()
    }

    // MARK: Ends

    /// Stops both ends at once.
    ///
    /// - Parameter keepQueued: what was handed over before may still be read.
    func fail(reader: ChannelError, writer: ChannelError, keepQueued: Bool) {
        perform { state in
            // A side that ended cleanly and was read to its end stays ended cleanly.
            if state.readEnd == nil || !keepQueued { state.readEnd = .failure(reader) }
            state.writeEnd = writer
            let stopped = state.writers.map { Wake.writer($0.waiter, .failure(writer)) }
            state.writers = []
            if !keepQueued {
                state.queue = []
                state.queuedBytes = 0
            }
            return stopped + state.serve(capacityBytes)
        }
    }

    // MARK: Waking

    /// Who goes on, and with what.
    fileprivate enum Wake {
        case reader(CheckedContinuation<Received, Never>, Received)
        case writer(CheckedContinuation<Sent, Never>, Sent)
    }

    private func perform(_ change: (inout State) -> [Wake]) {
        for wake in state.withLock({ change(&$0) }) {
            switch wake {
            case .reader(let waiter, let result): waiter.resume(returning: result)
            case .writer(let waiter, let result): waiter.resume(returning: result)
            }
        }
    }
}

extension LoopbackPipe.State {
    fileprivate mutating func enqueue(_ writer: LoopbackPipe.Writer, _ capacityBytes: Int) -> [LoopbackPipe.Wake] {
        // Cancelled before it came to wait: the handler ran and found nobody.
        guard !Task.isCancelled else { return [.writer(writer.waiter, .failure(.cancelled))] }
        if let writeEnd { return [.writer(writer.waiter, .failure(writeEnd))] }
        writers.append(writer)
        return serve(capacityBytes)
    }

    fileprivate mutating func cancelWriter(_ ticket: UInt64) -> [LoopbackPipe.Wake] {
        guard let index = writers.firstIndex(where: { $0.ticket == ticket }) else { return [] }
        return [.writer(writers.remove(at: index).waiter, .failure(.cancelled))]
    }

    /// Lets writers in while there is room, and the reader take what there is.
    fileprivate mutating func serve(_ capacityBytes: Int) -> [LoopbackPipe.Wake] {
        let admitted = admit(capacityBytes)
        guard let waiting = reader else { return admitted }
        if !queue.isEmpty {
            let message = queue.removeFirst()
            queuedBytes -= message.count
            reader = nil
            return admitted + [.reader(waiting, .success(message))] + admit(capacityBytes)
        }
        guard let readEnd else { return admitted }
        reader = nil
        return admitted + [.reader(waiting, readEnd)]
    }

    private mutating func admit(_ capacityBytes: Int) -> [LoopbackPipe.Wake] {
        var admitted: [LoopbackPipe.Wake] = []
        while let writer = writers.first, queuedBytes < capacityBytes {
            writers.removeFirst()
            queue.append(writer.message)
            queuedBytes += writer.message.count
            admitted.append(.writer(writer.waiter, .success(())))
        }
        return admitted
    }
}
