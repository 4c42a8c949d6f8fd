/// One channel to one client, unique in a run of the daemon; never on the wire.
public struct ClientID: Hashable, Sendable, CustomStringConvertible {
    public let number: UInt64

    public init(_ number: UInt64) { self.number = number }

    public var description: String { "client \(number)" }
}
