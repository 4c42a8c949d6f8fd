public import MewWire

/// The numbers by which a person at this device calls the sessions of one daemon.
///
/// A session gets the next number when it is first listed, and keeps it until it is deleted; then nobody gets it again. So a
/// number that stands on a screen never means another session, whatever is archived, deleted or moved in the list meanwhile.
public struct SessionNumbers: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        let session: SessionID
        let number: UInt64
    }

    /// Those that exist, in no order.
    private(set) var entries: [Entry]
    /// The highest that was ever given.
    private(set) var last: UInt64

    /// More would make every write of the client's records slow; further down the list sessions have none, and are called by the
    /// end of their ID.
    public static let maxEntries = 1_000

    public init() { self.init([], last: 0) }

    init(_ entries: [Entry], last: UInt64) {
        self.entries = Array(entries.prefix(Self.maxEntries))
        self.last = max(last, entries.map(\.number).max() ?? 0)
    }

    public subscript(session: SessionID) -> UInt64? { entries.first { $0.session == session }?.number }

    /// These are all the sessions there are, in the order in which they are shown.
    public mutating func note(_ sessions: some Sequence<SessionID>) {
        let known = Dictionary(entries.map { ($0.session, $0.number) }) { first, _ in first }
        entries = sessions.prefix(Self.maxEntries).map { session in
            Entry(session: session, number: known[session] ?? next())
        }
    }

    private mutating func next() -> UInt64 {
        last += 1
        return last
    }
}
