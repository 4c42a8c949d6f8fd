/// Which counters of one direction have been seen: a value is taken once, in any order within a window (as RFC 4303 §3.4.3
/// has it for ESP). A value.
package struct ReplayWindow: Sendable, Hashable {
    /// The largest counter that was taken; 0 before the first.
    package private(set) var largest: UInt64 = 0
    /// Bit n stands for `largest - n`.
    private var taken: UInt64 = 0

    /// More than arrive out of order: a message goes at most eight ways, and three of them follow each other in a second.
    package static let width: UInt64 = 64

    package init() {}

    /// False for a counter that was taken before, is too old to tell, or is zero, which no sender uses.
    package mutating func take(_ counter: UInt64) -> Bool {
        guard counter > 0 else { return false }
        if counter > largest {
            let distance = counter - largest
            taken = (distance < Self.width ? taken << distance : 0) | 1
            largest = counter
            return true
        }
        let age = largest - counter
        guard age < Self.width, taken & (1 << age) == 0 else { return false }
        taken |= 1 << age
        return true
    }
}
