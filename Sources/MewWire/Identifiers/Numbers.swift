/// A client attached to a session: 1, 2, 3… since the session was loaded.
public struct ClientNumber: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    public var description: String { String(rawValue) }
}

extension ClientNumber: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> ClientNumber {
        ClientNumber(try UInt64.read(json, on: link))
    }

    package func write(to fields: inout Fields) { rawValue.write(to: &fields) }
}

/// The place of an event in its session's journal: 1, 2, 3… without holes. Zero is the place before the first event.
public struct SequenceNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    public static let zero = SequenceNumber(0)
    public static let first = SequenceNumber(1)

    /// Saturates, so that a peer's number at the end of the range is no trap.
    public var next: SequenceNumber { SequenceNumber(rawValue == .max ? .max : rawValue + 1) }

    public static func < (left: SequenceNumber, right: SequenceNumber) -> Bool { left.rawValue < right.rawValue }

    public var description: String { String(rawValue) }
}

extension SequenceNumber: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> SequenceNumber {
        SequenceNumber(try UInt64.read(json, on: link))
    }

    package func write(to fields: inout Fields) { rawValue.write(to: &fields) }
}

/// A moment on a wall clock: milliseconds since the Unix epoch. For display and records only, never for deadlines.
public struct WallTime: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static func < (left: WallTime, right: WallTime) -> Bool { left.milliseconds < right.milliseconds }

    public var description: String { "\(milliseconds) ms" }
}

extension WallTime: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> WallTime {
        WallTime(milliseconds: try Int64.read(json, on: link))
    }

    package func write(to fields: inout Fields) { milliseconds.write(to: &fields) }
}
