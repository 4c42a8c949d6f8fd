public import MewBase

/// A session, unique at its daemon. Opaque: we make `sess_<ULID>`, others may make something else.
public struct SessionID: Hashable, Sendable, CustomStringConvertible {
    public let text: String

    /// Ours have 31 bytes. The bound keeps what a peer names from filling maps, logs and screens.
    public static let maxBytes = 128

    /// Nil when it is empty or longer than 128 bytes.
    public init?(_ text: some StringProtocol) {
        guard (1...Self.maxBytes).contains(text.utf8.count) else { return nil }
        self.text = String(text)
    }

    public init(_ ulid: ULID) {
        text = "sess_\(ulid)"
    }

    /// The ULID after `sess_`, which messages and parts carry in their `session_id` (spec/mew-wire.md §3.3.3).
    public var ulid: ULID? { text.hasPrefix("sess_") ? ULID(text.dropFirst(5)) : nil }

    public var description: String { text }
}

extension SessionID: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> SessionID {
        guard let id = SessionID(try String.read(json, on: link)) else {
            throw FieldError("must have 1 to \(maxBytes) bytes")
        }
        return id
    }

    package func write(to fields: inout Fields) { text.write(to: &fields) }
}

/// A question of an agent that waits for an answer; unique at its daemon, so clients key by (daemon, request).
///
/// A ULID in every daemon since `4056705c`, a number before (spec/mew-wire.md §7.2). Each is written back in the form it came
/// in; the two forms are never equal.
public enum RequestID: Hashable, Sendable, CustomStringConvertible {
    /// Up to 128 bytes.
    case text(String)
    case number(UInt64)

    static let maxBytes = 128

    public init(_ ulid: ULID) {
        self = .text(ulid.description)
    }

    public var description: String {
        switch self {
        case .text(let text): text
        case .number(let number): String(number)
        }
    }
}

extension RequestID: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> RequestID {
        if case .integer = json { return .number(try UInt64.read(json, on: link)) }
        let text = try String.read(json, on: link)
        guard text.utf8.count <= maxBytes else { throw FieldError("must have at most \(maxBytes) bytes") }
        return .text(text)
    }

    package func write(to fields: inout Fields) {
        switch self {
        case .text(let text): text.write(to: &fields)
        case .number(let number): number.write(to: &fields)
        }
    }
}

/// An identifier that is some text whose form only its maker knows.
public protocol OpaqueIdentifier: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    var text: String { get }
    init(_ text: String)
}

extension OpaqueIdentifier {
    public init(stringLiteral value: String) { self.init(value) }

    public var description: String { text }

    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> Self {
        Self(try String.read(json, on: link))
    }

    package func write(to fields: inout Fields) { text.write(to: &fields) }
}

/// A tool call, named by the model provider or agent; unique in its session.
public struct CallID: OpaqueIdentifier, WireValue {
    public let text: String
    public init(_ text: String) { self.text = text }
}

/// A group of sessions; ours are `grp_<ULID>`. Up to 128 bytes.
public struct GroupID: OpaqueIdentifier, WireValue {
    public let text: String
    public init(_ text: String) { self.text = text }
    public init(_ ulid: ULID) { text = "grp_\(ulid)" }

    static let maxBytes = 128

    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> GroupID {
        let text = try String.read(json, on: link)
        guard text.utf8.count <= maxBytes else { throw FieldError("must have at most \(maxBytes) bytes") }
        return GroupID(text)
    }
}
