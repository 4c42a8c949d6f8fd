public import MewBase
internal import MewIdentity

/// The one-time secret that pairs a device: `mew_` and 26 characters of Crockford base32 (the shape stock mew uses).
///
/// A secret: printed by nothing, compared with nothing; `revealed` is the only way to its text. The daemon keeps only its
/// `digest`.
public struct PairingToken: Sendable {
    /// The text itself, for the screen that shows the code and for `remote_hello`. Never for a log.
    public let revealed: String

    static let prefix = "mew_"

    /// A new token of 128 random bits; DESIGN §11 asks for 80.
    public init(entropy: some Entropy) {
        revealed = Self.prefix + ULID(high: entropy.uint64(), low: entropy.uint64()).description
    }

    /// Nil for anything but `mew_` and 26 upper-case Crockford characters.
    public init?(_ text: some StringProtocol) {
        guard text.hasPrefix(Self.prefix), ULID(text.dropFirst(Self.prefix.count)) != nil else { return nil }
        revealed = String(text)
    }

    /// SHA-256 of the text, 32 bytes: what is stored and compared.
    public var digest: [UInt8] { Self.digest(of: revealed) }

    /// The digest of what a peer presented as a token, whatever it is.
    public static func digest(of presented: String) -> [UInt8] {
        SHA256.digest(Array(presented.utf8))
    }

    /// Constant time.
    public func matches(digest: [UInt8]) -> Bool {
        ConstantTime.areEqual(self.digest, digest)
    }
}

extension PairingToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "‹secret›" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
