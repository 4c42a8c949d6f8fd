import CWslay
import MewBase

/// What wslay's callbacks read and write: bytes in, messages and bytes out. Touched only inside calls of its owner,
/// `WebSocketFraming`.
final class WebSocketExchange {
    let maxMessageBytes: Int
    private let takesText: Bool
    private let entropy: any Entropy

    /// What wslay has not taken yet.
    private var input: [UInt8] = []
    private var cursor = 0

    private var output: [UInt8] = []

    /// What `next` gives, in order. Bounded by the input: each message takes at least a frame header of it.
    private var steps: [FramingStep] = []
    private var stepsTaken = 0
    private(set) var failure: ChannelError?
    /// The peer's Close frame has begun. It ends the messages whatever it says: wslay 1.1.1 checks the reason piece by piece
    /// as it arrives, so that its verdict would depend on how the bytes were cut.
    private(set) var isClosing = false
    private var isEnded = false

    /// The message that is being collected, if one is.
    private var body: [UInt8] = []
    private var isInsideMessage = false
    private var frameIsControl = false

    /// Bytes received, and bytes that the frames begun so far will have taken: equal exactly between frames.
    private var receivedBytes: UInt64 = 0
    private var framedBytes: UInt64 = 0

    /// 4 when the peer is a client, which masks its frames (RFC 6455 §5.1), otherwise 0.
    private let maskBytes: UInt64

    init(role: WebSocketFraming.Role, takesText: Bool, maxMessageBytes: Int, entropy: any Entropy) {
        self.takesText = takesText
        maskBytes = role == .server ? 4 : 0
        self.maxMessageBytes = maxMessageBytes
        self.entropy = entropy
    }

    // MARK: For the owner

    /// Nothing that arrives now means anything.
    var isOver: Bool { isEnded || failure != nil }

    func take(_ bytes: [UInt8]) {
        guard !isOver else { return }
        input = cursor == input.count ? bytes : input[cursor...] + bytes
        cursor = 0
        receivedBytes += UInt64(bytes.count)
    }

    func end() {
        isEnded = true
        steps.append(.ended)
    }

    func fail(_ error: ChannelError) {
        failure = failure ?? error
    }

    /// Messages that came whole before a violation are given first.
    func next() throws(ChannelError) -> FramingStep {
        if stepsTaken < steps.count {
            defer { stepsTaken += 1 }
            var step = FramingStep.needMore
            // Swapped out, so that a large message is not held until the next one comes.
            swap(&step, &steps[stepsTaken])
            return step
        }
        steps.removeAll()
        stepsTaken = 0
        if let failure { throw failure }
        return .needMore
    }

    func receiveEnd() throws(ChannelError) {
        guard isOver || receivedBytes == framedBytes && !isInsideMessage else {
            throw .protocolViolation("the stream ended inside a WebSocket message")
        }
    }

    var heldBytes: Int { body.count }

    func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    // MARK: For wslay

    static let callbacks = wslay_event_callbacks(
        recv_callback: { context, buffer, length, _, data in
            guard let count = WebSocketExchange.of(data).read(into: buffer, length) else {
                wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK.rawValue)
                return -1
            }
            return count
        },
        send_callback: { _, bytes, length, _, data in
            WebSocketExchange.of(data).output += UnsafeBufferPointer(start: bytes, count: length)
            return length
        },
        genmask_callback: { _, buffer, length, data in
            WebSocketExchange.of(data).entropy.fill(UnsafeMutableRawBufferPointer(start: buffer, count: length))
            return 0
        },
        on_frame_recv_start_callback: { context, frame, data in
            guard let frame else { return }
            let exchange = WebSocketExchange.of(data)
            exchange.frameStarted(frame.pointee)
            if exchange.failure != nil || exchange.isClosing { wslay_event_shutdown_read(context) }
        },
        on_frame_recv_chunk_callback: { _, chunk, data in
            guard let chunk else { return }
            WebSocketExchange.of(data).received(
                UnsafeBufferPointer(start: chunk.pointee.data, count: chunk.pointee.data_length))
        },
        on_frame_recv_end_callback: nil,
        on_msg_recv_callback: { _, message, data in
            guard let message else { return }
            WebSocketExchange.of(data).messageEnded(opcode: message.pointee.opcode)
        }
    )

    /// `data` is what `WebSocketFraming` gave at the start: this object, alive as long as the context.
    private static func of(_ data: UnsafeMutableRawPointer?) -> WebSocketExchange {
        guard let data else { preconditionFailure("wslay hands back the pointer it was given") }
        return Unmanaged.fromOpaque(data).takeUnretainedValue()
    }

    /// Nil when there is nothing to read.
    private func read(into buffer: UnsafeMutablePointer<UInt8>?, _ length: Int) -> Int? {
        guard let buffer, cursor < input.count else { return nil }
        let count = min(length, input.count - cursor)
        _ = input.withUnsafeBufferPointer { bytes in
            UnsafeMutableBufferPointer(start: buffer, count: count)
                .update(fromContentsOf: bytes[cursor..<cursor + count])
        }
        cursor += count
        return count
    }

    private func frameStarted(_ frame: wslay_event_on_frame_recv_start_arg) {
        framedBytes &+= Self.headerBytes(of: frame) &+ maskBytes &+ frame.payload_length
        frameIsControl = Self.isControl(frame.opcode)
        isClosing = frame.opcode == UInt8(WSLAY_CONNECTION_CLOSE.rawValue)
        guard !frameIsControl else { return }
        isInsideMessage = true
        let total = UInt64(body.count).addingReportingOverflow(frame.payload_length)
        guard !total.overflow, total.partialValue <= UInt64(maxMessageBytes) else {
            return fail(.tooLarge(declaredBytes: Int(clamping: total.partialValue)))
        }
    }

    private func received(_ chunk: UnsafeBufferPointer<UInt8>) {
        guard failure == nil, !frameIsControl else { return }
        body += chunk
    }

    private func messageEnded(opcode: UInt8) {
        guard failure == nil, !Self.isControl(opcode) else { return }
        if takesText || opcode != UInt8(WSLAY_TEXT_FRAME.rawValue) { steps.append(.message(body)) }
        body = []
        isInsideMessage = false
    }

    /// RFC 6455 §5.5: "Control frames are identified by opcodes where the most significant bit of the opcode is 1."
    private static func isControl(_ opcode: UInt8) -> Bool { opcode & 8 != 0 }

    /// wslay insists on the shortest length form, so the header's size (without mask key) follows from the length.
    private static func headerBytes(of frame: wslay_event_on_frame_recv_start_arg) -> UInt64 {
        switch frame.payload_length {
        case ..<126: 2
        case ..<65_536: 4
        default: 10
        }
    }
}
