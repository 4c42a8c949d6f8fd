package import MewBase
package import MewLoop
package import MewWire

/// A `MessageChannel` over one stream, with either framing (spec/mew-wire.md §1.4, spec/native-wire.md §1).
///
/// One task reads, any number send. A message is written whole before the next one begins: a send that is cancelled before
/// its first byte was taken sends nothing, one that is cancelled later is completed behind its caller's back, because half
/// a frame would end the channel. Messages that are sent together are one write. Buffers: the message being read (at most 8 MiB), the one being written, a few KiB of
/// answers to pings.
///
/// Pinned to the loop of its connection, so that a message costs no thread hop.
package actor StreamChannel: MessageChannel {
    private enum Reading {
        case open
        case ended
        case failed(ChannelError)
    }

    private enum Writing {
        case open
        /// No further message; the end follows behind those that wait for their turn.
        case finishing
        case finished
        /// Reset by us, because of the peer's violation, or by the peer; what further sends get.
        case abandoned(ChannelError)
    }

    private let loop: any Loop
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private let stream: any ByteStream
    private let kind: ChannelFraming
    private var framing: any MessageFraming
    /// Where what waits for the rest of its message is charged; nil on the dialling side.
    private let charge: ReceiveCharge?

    private var reading = Reading.open
    private var writing = Writing.open
    private var turns = WriteTurns()
    /// What the framing itself has to say, until somebody's turn to write ends.
    private var replies: [UInt8] = []

    /// A peer that pings and takes nothing in gets no further answers while more than this waits, so at most this and the
    /// answers to one read are held.
    package static let maxReplyBytes = 4 << 10

    /// - Parameter received: bytes of the stream that were read before, behind an upgrade.
    package init(
        stream: any ByteStream, framing kind: ChannelFraming, received: [UInt8] = [], charge: ReceiveCharge? = nil,
        loop: any Loop, entropy: any Entropy
    ) {
        self.charge = charge
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
        self.stream = stream
        self.kind = kind
        framing = kind.make(entropy: entropy)
        framing.receive(received)
    }

    // MARK: Receiving

    package func receive() async throws(ChannelError) -> [UInt8]? {
        while true {
            switch reading {
            case .ended: return nil
            case .failed(let error): throw error
            case .open: break
            }
            switch try await nextStep() {
            case .message(let message):
                return message
            case .ended:
                reading = .ended
                // RFC 6455 §5.5.1: "the endpoint MUST send a Close frame in response", and nothing after it.
                await finish()
            case .needMore:
                try await readMore()
            }
        }
    }

    private func nextStep() async throws(ChannelError) -> FramingStep {
        do {
            let step = try framing.next()
            try charge?.hold(framing.heldBytes)
            await takeReplies(always: step == .ended)
            return step
        } catch {
            await refuse(error)
            throw error
        }
    }

    private func readMore() async throws(ChannelError) {
        do {
            guard let bytes = try await stream.read() else {
                try framing.receiveEnd()
                reading = .ended
                return
            }
            framing.receive(bytes)
        } catch {
            switch (reading, error) {
            case (.failed(let earlier), _):
                // The channel was reset while we waited.
                throw earlier
            case (_, .cancelled):
                // The reading task was; another may go on.
                break
            case (_, .protocolViolation), (_, .tooLarge):
                await refuse(error)
            case (_, .reset(let code)):
                // A peer gives up both directions at once; its STOP_SENDING may be a packet behind.
                reading = .failed(error)
                await abandon(code: code, error)
            case (_, .linkClosed), (_, .finished):
                reading = .failed(error)
            }
            throw error
        }
    }

    /// The peer broke the rules: nothing of it is read any more, and it is told.
    private func refuse(_ error: ChannelError) async {
        reading = .failed(error)
        switch kind {
        case .native:
            await abandon(code: ChannelResetCode.violation, .cancelled)
        case .webSocketClient, .webSocketServer:
            // The Close frame that says why lies ready; a reset would destroy it.
            await finish()
        }
        await stream.stop(code: ChannelResetCode.violation)
    }

    // MARK: Sending

    package func send(_ message: [UInt8]) async throws(ChannelError) {
        try await sendAll([message])
    }

    package func sendAll(_ messages: [[UInt8]]) async throws(ChannelError) {
        try await takeTurn()
        let bytes: [UInt8]
        do throws(ChannelError) {
            // Looked at again: the channel may have been given up while we waited.
            if case .abandoned(let error) = writing { throw error }
            bytes = try encoded(messages)
        } catch {
            await passTurn()
            throw error
        }
        var offset = 0
        do {
            while offset < bytes.count { offset += try await stream.write(bytes, from: offset) }
        } catch .cancelled where offset > 0 {
            complete(bytes, from: offset, isEnd: false)
            throw .cancelled
        } catch {
            await passTurn()
            // QUIC says of a peer that gave up reading only that it did; when the channel was given up, we know more.
            if case .abandoned(let cause) = writing { throw cause }
            throw error
        }
        await passTurn()
    }

    private func encoded(_ messages: [[UInt8]]) throws(ChannelError) -> [UInt8] {
        if messages.count == 1 { return try framing.encode(messages[0]) }
        var bytes: [UInt8] = []
        for message in messages { bytes += try framing.encode(message) }
        return bytes
    }

    private func takeTurn() async throws(ChannelError) {
        switch writing {
        case .open: break
        case .finishing, .finished: throw .finished
        case .abandoned(let error): throw error
        }
        if Task.isCancelled { throw .cancelled }
        if turns.takeIfFree() { return }
        let ticket = turns.ticket()
        let isOurs = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The handler may have run before there was anything to cancel.
                if Task.isCancelled { continuation.resume(returning: false) } else { turns.wait(ticket, continuation) }
            }
        } onCancel: {
            loop.post { self.assumeIsolated { $0.turns.cancel(ticket) } }
        }
        guard isOurs else { throw .cancelled }
    }

    // MARK: Ends

    package func finish() async {
        guard case .open = writing else { return }
        writing = .finishing
        if turns.takeIfFree() { await passTurn() }
    }

    package func reset(code: UInt64) async {
        switch (reading, writing) {
        case (.ended, .finished), (.failed, .abandoned): return
        case (.open, _), (.ended, _), (.failed, _): break
        }
        reading = .failed(.cancelled)
        await abandon(code: code, .cancelled)
        await stream.stop(code: code)
    }

    private func abandon(code: UInt64, _ error: ChannelError) async {
        writing = .abandoned(error)
        await stream.reset(code: code)
    }

    // MARK: What the framing says

    /// - Parameter always: the answer to a Close is among them.
    private func takeReplies(always: Bool) async {
        let new = framing.takeReplies()
        guard !new.isEmpty, always || replies.count <= Self.maxReplyBytes else { return }
        replies += new
        if turns.takeIfFree() { await passTurn() }
    }

    /// With the turn: writes answers and, when its time has come, the end; then passes the turn on. Never waits for the
    /// peer: what finds no room is left to a task of its own, which keeps the turn.
    private func passTurn() async {
        var bytes = replies + framing.takeReplies()
        replies = []
        var isEnd = false
        if case .finishing = writing, !turns.hasWaiters {
            writing = .finished
            isEnd = true
            bytes += framing.encodeEnd()
        }
        // A stream that is gone takes nothing more; those who use it learn that from their own calls.
        let taken = bytes.isEmpty ? 0 : (try? await stream.writeNow(bytes, from: 0)) ?? bytes.count
        if taken < bytes.count {
            complete(bytes, from: taken, isEnd: isEnd)
        } else {
            await endTurn(isEnd: isEnd)
        }
    }

    private func complete(_ bytes: [UInt8], from start: Int, isEnd: Bool) {
        loop.spawn { [self] in
            await writeRest(bytes, from: start)
            await isEnd ? endTurn(isEnd: true) : passTurn()
        }
    }

    private func writeRest(_ bytes: [UInt8], from start: Int) async {
        var offset = start
        while offset < bytes.count, let count = try? await stream.write(bytes, from: offset) { offset += count }
    }

    private func endTurn(isEnd: Bool) async {
        if isEnd { await stream.finish() }
        turns.release()
        if !replies.isEmpty, turns.takeIfFree() { await passTurn() }
    }
}
