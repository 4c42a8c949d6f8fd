/// A byte sequence in which a piece that is out of place shows: it repeats only after a prime number of bytes.
package enum Pattern {
    private static let period = 65_521
    /// Three periods, so that `maxPieceBytes` from any offset are one slice.
    private static let table: [UInt8] = (0..<(3 * period)).map {
        UInt8(truncatingIfNeeded: ($0 % period) &* 31 &+ ($0 % period) >> 8)
    }

    package static let maxPieceBytes = 64 << 10

    /// `count` bytes of the sequence from `offset` on, at most `maxPieceBytes` of them.
    ///
    /// - Parameter salt: another sequence for each.
    package static func bytes(at offset: Int, count: Int, salt: Int) -> [UInt8] {
        let start = (offset + salt) % period
        return Array(table[start..<(start + min(count, maxPieceBytes))])
    }
}
