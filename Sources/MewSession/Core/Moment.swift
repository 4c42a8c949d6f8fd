public import MewBase
public import MewWire

/// When something happens, and where new identifiers come from: all of the outside world that decisions may look at.
public struct Moment: Sendable {
    /// For deadlines.
    public let now: Instant
    /// For display and records.
    public let wall: WallTime
    public let ids: any IDSource

    public init(now: Instant, wall: WallTime, ids: any IDSource) {
        (self.now, self.wall, self.ids) = (now, wall, ids)
    }

    func newID() -> ULID { newIDs(1) }

    /// The first of `count` that follow each other.
    func newIDs(_ count: Int) -> ULID {
        ids.next(count, milliseconds: UInt64(max(0, wall.milliseconds)))
    }
}
