public import MewWire

/// A question of an agent that waits for an answer, as it is to be displayed.
///
/// Render only `content`: on native links it is what stands in `shown`, and the digest is computed over exactly that text, so
/// that nobody approves something other than what was on the screen (NEEDS N-41).
public struct PendingRequest: Sendable, Equatable {
    public enum Answering: Sendable, Equatable {
        /// Nobody here has answered.
        case open
        /// An answer was sent; the daemon's verdict is not here yet.
        case sending(OperationID)
    }

    public let id: RequestID
    public let content: Request.Content
    /// Names what is displayed, on the wire of native links and in the handle people type.
    public let digest: ShownDigest
    public internal(set) var answering = Answering.open

    /// - Throws: `shown` holds no request we can display; it cannot be answered from here.
    init(_ request: Request) throws(FieldError) {
        id = request.id
        if let shown = request.shown {
            content = try Request.Content(shown: shown)
            digest = ShownDigest(of: shown, request: request.id)
        } else {
            content = request.content
            digest = ShownDigest(of: request.content.shownText, request: request.id)
        }
    }

    /// What people type: the last four characters of the ID, a dash, and the first six of the digest.
    public var handle: String { "\(id.description.suffix(4))-\(digest.hex.prefix(6))" }
}
