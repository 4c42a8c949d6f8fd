internal import Synchronization

/// How many bytes may be held for one peer, in all its connections and channels together.
///
/// A channel by itself is bounded, but a device may open many of them: without a bound on all, one that sends the beginnings
/// of large messages, or asks and never reads, fills the memory of the daemon. What it keeps for a device is charged here.
public final class ByteBudget: Sendable {
    public let maxBytes: Int
    private let used = Mutex(0)
    private let outer: ByteBudget?

    /// - Parameter outer: a budget that this one is part of: what is held here is held there, too.
    public init(maxBytes: Int, within outer: ByteBudget? = nil) {
        self.maxBytes = maxBytes
        self.outer = outer
    }

    /// What is charged now; for gauges and tests.
    public var usedBytes: Int { used.withLock { $0 } }

    /// A part of it for one holder, empty at first.
    public func share() -> Share { Share(of: self) }

    /// Inner locks are taken before outer ones, and none of ours is held by anybody who waits.
    private func change(by count: Int, mayExceed: Bool) -> Bool {
        used.withLock { used in
            guard count <= 0 || mayExceed || used + count <= maxBytes,
                outer?.change(by: count, mayExceed: mayExceed) ?? true
            else { return false }
            used += count
            return true
        }
    }

    /// What one holder keeps. It is given back with the share. Used by one task at a time.
    public final class Share: Sendable {
        private let budget: ByteBudget
        private let own = Mutex(0)

        fileprivate init(of budget: ByteBudget) {
            self.budget = budget
        }

        deinit {
            _ = hold(0)
        }

        /// Holds `count` bytes from now on, instead of what it held. False, and nothing is changed, when it were more than
        /// before and there is no room for that.
        ///
        /// - Parameter mayExceed: takes them all the same: small things that must not be lost.
        public func hold(_ count: Int, mayExceed: Bool = false) -> Bool {
            own.withLock { own in
                let isTaken = budget.change(by: count - own, mayExceed: mayExceed)
                if isTaken { own = count }
                return isTaken
            }
        }
    }
}
