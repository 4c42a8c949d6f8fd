/// Finds the messages in what the other side of a WebSocket sent (RFC 6455 §5), where they lie: a relay rewrites and forwards
/// them from there. wslay, which mew's own streams use, copies each message twice, masks byte by byte and keeps five kilobytes a
/// connection.
///
/// Keeps nothing but the pieces of a fragmented message; what is incomplete at the end of the input stays the caller's.
struct WebSocketReader {
    /// Larger messages end the connection. The largest frame of the relay protocol, with its type in the longest form.
    let maxMessageBytes: Int

    private var fragments: [UInt8] = []
    private var fragmentOpcode: Opcode?

    /// A client masks all its frames, a server none (RFC 6455 §5.1).
    enum Sender {
        case client, server
    }

    let sender: Sender

    init(from sender: Sender = .client, maxMessageBytes: Int) {
        self.sender = sender
        self.maxMessageBytes = maxMessageBytes
    }

    enum Opcode: UInt8 {
        case continuation = 0
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10

        var isControl: Bool { rawValue & 8 != 0 }
    }

    /// Why the connection ends. The raw values are close codes (RFC 6455 §7.4.1).
    enum Violation: UInt16, Error {
        case protocolError = 1002
        case tooLarge = 1009
    }

    /// The first frame of `input`, which loses what was used up.
    ///
    /// - Parameter deliver: called with a whole message or control frame; returns whether to go on.
    mutating func read(
        _ input: inout UnsafeMutableRawBufferPointer, _ deliver: (Opcode, UnsafeMutableRawBufferPointer) -> Bool
    ) throws(Violation) {
        while let frame = try nextFrame(&input) {
            if frame.opcode.isControl || (frame.isFinal && fragmentOpcode == nil) {
                guard deliver(frame.opcode, frame.payload) else { return }
            } else if frame.isFinal {
                guard deliverFragments(deliver) else { return }
            }
        }
    }

    private mutating func deliverFragments(_ deliver: (Opcode, UnsafeMutableRawBufferPointer) -> Bool) -> Bool {
        var message: [UInt8] = []
        swap(&message, &fragments)
        let opcode = fragmentOpcode ?? .binary
        fragmentOpcode = nil
        return message.withUnsafeMutableBytes { deliver(opcode, $0) }
    }

    private struct Frame {
        let opcode: Opcode
        let isFinal: Bool
        let payload: UnsafeMutableRawBufferPointer
    }

    private mutating func nextFrame(_ input: inout UnsafeMutableRawBufferPointer) throws(Violation) -> Frame? {
        guard let head = try Head(input, from: sender, fragmentsOf: fragmentOpcode) else { return nil }
        let collected = head.opcode.isControl ? 0 : fragments.count
        guard head.payloadBytes <= maxMessageBytes - collected else { throw .tooLarge }
        guard input.count - head.byteCount >= head.payloadBytes else { return nil }
        let end = head.byteCount + head.payloadBytes
        let payload = UnsafeMutableRawBufferPointer(rebasing: input[head.byteCount..<end])
        if sender == .client { WebSocketMask.apply(head.mask, to: payload) }
        input = UnsafeMutableRawBufferPointer(rebasing: input[end...])
        collect(head, payload)
        return Frame(opcode: head.opcode, isFinal: head.isFinal, payload: payload)
    }

    private mutating func collect(_ head: Head, _ payload: UnsafeMutableRawBufferPointer) {
        guard !head.opcode.isControl, !head.isFinal || fragmentOpcode != nil else { return }
        fragmentOpcode = fragmentOpcode ?? head.opcode
        fragments += payload
    }
}

extension WebSocketReader {
    /// Two bytes, the length, and the mask key.
    private struct Head {
        let opcode: Opcode
        let isFinal: Bool
        let payloadBytes: Int
        /// As it lies in memory.
        let mask: UInt32
        let byteCount: Int

        /// Nil when it is not whole yet.
        ///
        /// - Parameter fragmentsOf: the message that has begun, when one has.
        init?(
            _ input: UnsafeMutableRawBufferPointer, from sender: Sender, fragmentsOf begun: Opcode?
        ) throws(Violation) {
            guard input.count >= 2 else { return nil }
            let isMasked = input[1] & 0x80 != 0
            // No extension was agreed on, so the three reserved bits are zero.
            guard input[0] & 0x70 == 0, isMasked == (sender == .client), let opcode = Opcode(rawValue: input[0] & 15)
            else {
                throw .protocolError
            }
            self.opcode = opcode
            isFinal = input[0] & 0x80 != 0
            try Self.checkOrder(opcode, isFinal: isFinal, short: input[1] & 0x7f, begun)
            let short = Int(input[1] & 0x7f)
            let extra = short == 126 ? 2 : short == 127 ? 8 : 0
            byteCount = 2 + extra + (isMasked ? 4 : 0)
            guard input.count >= byteCount else { return nil }
            payloadBytes = try Self.length(short, UnsafeRawBufferPointer(rebasing: input[2..<(2 + extra)]))
            mask = isMasked ? input.loadUnaligned(fromByteOffset: 2 + extra, as: UInt32.self) : 0
        }

        /// §5.4: fragments of two messages are not mixed; §5.5: control frames are short and whole.
        private static func checkOrder(
            _ opcode: Opcode, isFinal: Bool, short: UInt8, _ begun: Opcode?
        ) throws(Violation) {
            let isInOrder =
                switch opcode {
                case .continuation: begun != nil
                case .text, .binary: begun == nil
                case .close, .ping, .pong: isFinal && short < 126
                }
            guard isInOrder else { throw .protocolError }
        }

        /// §5.2: "the minimal number of bytes MUST be used to encode the length".
        private static func length(_ short: Int, _ extra: UnsafeRawBufferPointer) throws(Violation) -> Int {
            let long = extra.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            switch extra.count {
            case 2:
                guard long >= 126 else { throw .protocolError }
            case 8:
                guard long >= 65_536, long <= UInt64(Int64.max) else { throw .protocolError }
            default:
                return short
            }
            return Int(long)
        }
    }
}
