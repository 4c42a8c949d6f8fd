internal import CSodium

/// What a signature is for. It goes into the signed bytes, so that a signature made for one purpose fits no other.
public struct SigningContext: Hashable, Sendable {
    public let label: String
    public let version: UInt8

    /// - Parameter label: ours, such as `mew/reach`; no NUL in it.
    public init(label: String, version: UInt8) {
        precondition(!label.isEmpty && !label.utf8.contains(0), "the label ends at its NUL, so it cannot hold one")
        self.label = label
        self.version = version
    }

    /// label ‖ 00 ‖ version (1) ‖ message.
    func input(_ message: [UInt8]) -> [UInt8] {
        Array(label.utf8) + [0, version] + message
    }
}

/// An ed25519 signature (RFC 8032), 64 bytes.
public struct Signature: Hashable, Sendable {
    public let bytes: [UInt8]

    /// Nil unless there are exactly 64 bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 64 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Strict: refuses small-order keys and points and a non-canonical S, so that one message has one signature.
    public func isValid(for message: [UInt8], context: SigningContext, by node: NodeID) -> Bool {
        isValid(forRaw: context.input(message), by: node)
    }

    /// The same strictness for what `SecretKey.sign(raw:)` signed.
    package func isValid(forRaw message: [UInt8], by node: NodeID) -> Bool {
        Sodium.start()
        return crypto_sign_verify_detached(bytes, message, UInt64(message.count), node.bytes) == 0
    }
}
