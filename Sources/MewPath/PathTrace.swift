package import MewBase

/// The latest inputs of one `PathSelector`: a report that a connection never became direct tells with them what was seen. It
/// holds addresses and times, nothing of what the connection carries.
package struct PathTrace: Sendable {
    package struct Entry: Hashable, Sendable {
        package let at: Instant
        /// Nil for a look.
        package let input: PathSelector.Input?
        package let sample: PathSample
        package let steps: [PathSelector.Step]
    }

    /// A connection in trouble makes about two a second: some minutes of that.
    static let limit = 512

    private var ring: [Entry] = []
    private var next = 0

    mutating func note(_ entry: Entry) {
        if ring.count < Self.limit {
            ring.append(entry)
        } else {
            ring[next] = entry
            next = (next + 1) % Self.limit
        }
    }

    /// Oldest first.
    package var entries: [Entry] { Array(ring[next...] + ring[..<next]) }
}

extension PathSelector {
    /// Plays what another selector was given to this one: with the same beginning, the steps are the same.
    package mutating func replay(_ entries: [PathTrace.Entry]) -> [[Step]] {
        entries.map { entry in
            if let input = entry.input {
                take(input, seeing: entry.sample, now: entry.at)
            } else {
                look(entry.sample, now: entry.at)
            }
        }
    }
}
