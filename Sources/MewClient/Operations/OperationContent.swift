internal import MewWire

/// What an operation said, kept until the daemon has it: to be sent again as it was, and to be known when it is said again.
public struct OperationContent: Hashable, Sendable {
    /// The message as it is on native links, without the operation's ID. Never empty.
    let bytes: [UInt8]

    /// Larger ones are sent and not kept: a prompt of this size has files in it.
    public static let maxBytes = 1 << 20

    /// Nil for what is too large to be kept.
    init?(_ message: ClientMessage) {
        guard let bytes = ClientFrame(message).encoded(for: .native), bytes.count <= Self.maxBytes else { return nil }
        self.bytes = bytes
    }

    /// Nil for what this program does not know how to say.
    var message: ClientMessage? {
        guard case .decoded(let frame) = ClientFrame.decode(bytes, from: .native) else { return nil }
        return frame.message
    }

    // MARK: - Stored form

    var text: String { String(decoding: bytes, as: UTF8.self) }

    init(text: String) { bytes = Array(text.utf8) }
}
