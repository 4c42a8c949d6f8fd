public import MewBase
internal import Synchronization

/// Makes new identifiers. Handed to everything that needs one, so that a simulation makes the same ones again.
public protocol IDSource: Sendable {
    /// A ULID of the moment `milliseconds`, above every one that this source made before.
    func next(milliseconds: UInt64) -> ULID
}

/// ULIDs from a source of randomness, strictly increasing even when the wall clock goes back.
public final class MonotonicIDs: IDSource {
    private let entropy: any Entropy
    private let last = Mutex<ULID?>(nil)

    public init(entropy: any Entropy) {
        self.entropy = entropy
    }

    public func next(milliseconds: UInt64) -> ULID {
        let fresh = ULID(milliseconds: milliseconds, entropy: entropy)
        return last.withLock { last in
            let next = last.map { fresh > $0 ? fresh : $0.successor } ?? fresh
            last = next
            return next
        }
    }
}
