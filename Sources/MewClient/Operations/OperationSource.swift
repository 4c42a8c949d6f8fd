public import MewBase

/// Makes operation IDs that only go up, whatever the wall clock says (spec/native-wire.md §2, `op_id`).
///
/// The last ID is kept by the `ClientStore`, so that several processes of one state directory never go back.
public struct OperationSource: Sendable, Hashable {
    /// Nil until the first one.
    public private(set) var last: ULID?

    public init(last: ULID?) {
        self.last = last
    }

    /// - Parameter wallMilliseconds: since the Unix epoch. A clock that went back costs only the time in the ID.
    public mutating func next(wallMilliseconds: UInt64, entropy: some Entropy) -> ULID {
        let fresh = ULID(milliseconds: wallMilliseconds, entropy: entropy)
        let next = last.map { $0 < fresh ? fresh : $0.successor } ?? fresh
        last = next
        return next
    }
}
