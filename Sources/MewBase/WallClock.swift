/// The time of day, for display, identifiers and records that outlive the machine's uptime.
///
/// It jumps: nothing is measured with it (`Instant` is for that).
public protocol WallClock: Sendable {
    /// Milliseconds since the Unix epoch.
    var millisecondsSinceEpoch: UInt64 { get }
}
