public import MewBase

// Identifiers that are one ULID each (spec/mew-wire.md §3.5, spec/native-wire.md §2). A type per meaning, so that a part is
// never taken for a message.

/// An identifier that is a ULID and nothing else.
public protocol ULIDIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
    var ulid: ULID { get }
    init(_ ulid: ULID)
}

extension ULIDIdentifier {
    /// Nil unless it is 26 characters of Crockford base32 in upper case.
    public init?(_ text: some StringProtocol) {
        guard let ulid = ULID(text) else { return nil }
        self.init(ulid)
    }

    public var description: String { ulid.description }

    public static func < (left: Self, right: Self) -> Bool { left.ulid < right.ulid }

    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> Self {
        Self(try ULID.read(json, on: link))
    }

    package func write(to fields: inout Fields) { ulid.write(to: &fields) }
}

/// A message of a conversation; global.
public struct MessageID: ULIDIdentifier, WireValue {
    public let ulid: ULID
    public init(_ ulid: ULID) { self.ulid = ulid }
}

/// A part of a message; global.
public struct PartID: ULIDIdentifier, WireValue {
    public let ulid: ULID
    public init(_ ulid: ULID) { self.ulid = ulid }
}

/// One turn: a prompt and everything until the agent is idle again.
public struct TurnID: ULIDIdentifier, WireValue {
    public let ulid: ULID
    public init(_ ulid: ULID) { self.ulid = ulid }
}

/// Chosen by a client for one operation and kept for every retry of it; increasing per device.
public struct OperationID: ULIDIdentifier, WireValue {
    public let ulid: ULID
    public init(_ ulid: ULID) { self.ulid = ulid }
}

/// A frozen list of messages that older pages are cut from; clearing and compacting start a new one.
public struct HistoryID: ULIDIdentifier, WireValue {
    public let ulid: ULID
    public init(_ ulid: ULID) { self.ulid = ulid }
}

/// A stretch of a session's journal. It changes when a tail may have been lost, so that numbers mean something else.
public struct Epoch: ULIDIdentifier, WireValue {
    public let ulid: ULID
    public init(_ ulid: ULID) { self.ulid = ulid }
}

/// One alert; clients show it once.
public struct AlertID: ULIDIdentifier, WireValue {
    public let ulid: ULID
    public init(_ ulid: ULID) { self.ulid = ulid }
}

/// One run of a daemon.
public struct BootID: ULIDIdentifier, WireValue {
    public let ulid: ULID
    public init(_ ulid: ULID) { self.ulid = ulid }
}

/// An open terminal, known to its connection.
public struct TerminalID: ULIDIdentifier, WireValue {
    public let ulid: ULID
    public init(_ ulid: ULID) { self.ulid = ulid }
}
