import MewIdentity

/// SHA-256 of what was displayed for a request: 64 lower-case hex digits (spec/native-wire.md §2, `shown_digest`).
///
/// A client computes it from the text it rendered, the daemon from the text it registered; an answer counts only when the two
/// are equal, so that nobody approves something other than what was on the screen.
public struct ShownDigest: Hashable, Sendable, CustomStringConvertible {
    public let hex: String

    /// Nil unless it is 64 lower-case hex digits.
    public init?(hex: some StringProtocol) {
        guard hex.utf8.count == 64, hex.utf8.allSatisfy({ Self.digits.contains($0) }) else { return nil }
        self.hex = String(hex)
    }

    /// The hash of `mew/shown/1` ‖ 00 ‖ request ID ‖ 00 ‖ `shown`.
    ///
    /// - Parameter shown: the text exactly as it was sent in the request's `shown`.
    public init(of shown: String, request: RequestID) {
        let text = Array("mew/shown/1".utf8) + [0] + Array(request.description.utf8) + [0] + Array(shown.utf8)
        hex = Hex.encode(SHA256.digest(text))
    }

    public var description: String { hex }

    private static let digits = Set("0123456789abcdef".utf8)
}

extension ShownDigest: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> ShownDigest {
        guard case .string(let text) = json, let digest = ShownDigest(hex: text) else {
            throw FieldError("must be 64 lower-case hex digits")
        }
        return digest
    }

    package func write(to fields: inout Fields) { hex.write(to: &fields) }
}
