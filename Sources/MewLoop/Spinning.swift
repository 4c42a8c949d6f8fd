internal import CSys

/// Whether to poll for a moment before sleeping, decided by how long the last wait was.
///
/// Spinning on both sides cuts a round trip between two processes of one machine by about half. Where answers take longer
/// than the limit, which is everywhere but on the same machine or in the same rack, nothing ever spins.
package struct Spinning: Sendable {
    /// Twice what waking a sleeping thread costs: spinning longer would cost more than it can win.
    package static let limit: Duration = .microseconds(50)

    /// Zero on a machine with one processor: whom we wait for could not run meanwhile.
    package static let usual: Duration = csys_processor_count() > 1 ? limit : .zero

    private let limit: Duration
    /// True when the next event is expected within the limit.
    package private(set) var expectsSoon = false

    package init(limit: Duration) {
        self.limit = limit
    }

    /// Learns from a wait that is over.
    package mutating func waited(_ duration: Duration) {
        expectsSoon = duration < limit
    }
}
