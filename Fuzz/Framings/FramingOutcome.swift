import MewWire

/// What a framing made of bytes handed over in pieces: its messages, and how it ended.
struct FramingOutcome: Equatable {
    private var messages: [[UInt8]] = []
    private var isClosed = false
    private var error: ChannelError?

    init(_ framing: consuming some MessageFraming, _ bytes: [UInt8], piece: Int) {
        var framing = framing
        do throws(ChannelError) {
            for start in stride(from: 0, to: bytes.count, by: piece) {
                framing.receive(Array(bytes[start..<min(start + piece, bytes.count)]))
                while case let step = try framing.next(), step != .needMore {
                    switch step {
                    case .message(let message): messages.append(message)
                    case .ended:
                        isClosed = true
                        return
                    case .needMore: break
                    }
                }
            }
            try framing.receiveEnd()
        } catch {
            self.error = error
        }
    }
}
