public import MewBase
internal import Synchronization

/// Makes new identifiers. Handed to everything that needs one, so that a simulation makes the same ones again.
public protocol IDSource: Sendable {
    /// The first of `count` ULIDs of the moment `milliseconds` that follow each other, above every one that this source gave away
    /// before. All of them belong to the caller: what is named after something else needs no message to say its name.
    func next(_ count: Int, milliseconds: UInt64) -> ULID
}

extension IDSource {
    /// One ULID.
    public func next(milliseconds: UInt64) -> ULID { next(1, milliseconds: milliseconds) }
}

/// ULIDs from a source of randomness, strictly increasing even when the wall clock goes back.
public final class MonotonicIDs: IDSource {
    private let entropy: any Entropy
    /// The last one that was given away.
    private let last = Mutex<ULID?>(nil)

    public init(entropy: any Entropy) {
        self.entropy = entropy
    }

    public func next(_ count: Int, milliseconds: UInt64) -> ULID {
        precondition(count > 0, "nothing is no identifier")
        let fresh = ULID(milliseconds: milliseconds, entropy: entropy)
        return last.withLock { last in
            let next = last.map { fresh > $0 ? fresh : $0.successor } ?? fresh
            last = next.advanced(by: UInt64(count - 1))
            return next
        }
    }
}
