package import MewBase

/// Ways that the dialler shows to the listener, which knows only where packets have come from: each is probed until it is
/// answered. A value.
package struct Announcements<Way: Hashable & Sendable>: Sendable {
    private struct Entry {
        let way: Way
        var attempt: Int
        var next: Instant
    }

    private var open: [Entry] = []

    /// A connection has no more legs than this; a further way takes the place of the oldest.
    package static var maxOpen: Int { 8 }
    /// The listener answers once it has authorized us, which takes a person up to two minutes.
    static var maxAttempts: Int { 12 }
    static var firstPause: Duration { .milliseconds(250) }
    static var longestPause: Duration { .seconds(15) }

    package init() {}

    /// When to look next. Asked after every packet, and a key path into a generic type is looked up each time: a closure.
    package var deadline: Instant { open.lazy.map { $0.next }.min() ?? .distantFuture }

    /// Begins, or begins anew: a way that was interrupted is shown again.
    package mutating func add(_ way: Way, now: Instant) {
        open.removeAll { $0.way == way }
        if open.count >= Self.maxOpen { open.removeFirst() }
        open.append(Entry(way: way, attempt: 0, next: now))
    }

    /// The listener has answered there.
    package mutating func answered(_ way: Way) {
        open.removeAll { $0.way == way }
    }

    /// The ways to probe now.
    package mutating func due(now: Instant) -> [Way] {
        var ways: [Way] = []
        for index in open.indices where open[index].next <= now {
            ways.append(open[index].way)
            open[index].attempt += 1
            let pause = min(Self.firstPause * (1 << min(open[index].attempt - 1, 8)), Self.longestPause)
            open[index].next = now.advanced(by: pause)
        }
        open.removeAll { $0.attempt >= Self.maxAttempts }
        return ways
    }
}
