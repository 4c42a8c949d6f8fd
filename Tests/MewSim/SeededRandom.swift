internal import MewBase

/// A small seeded generator: splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    package var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        return Self.mix(state)
    }

    /// Uniform in `0..<bound`, nearly: the bias is below 2^-32 for the bounds used here, and it costs one multiplication.
    package mutating func below(_ bound: UInt64) -> UInt64 {
        next().multipliedFullWidth(by: bound).high
    }

    /// True with probability `chance`. Draws a number only when the answer is open.
    package mutating func happens(_ chance: Double) -> Bool {
        chance > 0 && Double(next() >> 11) * 0x1p-53 < chance
    }

    /// Scrambles a word; equal words stay equal.
    package static func mix(_ word: UInt64) -> UInt64 {
        var z = word
        z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
        return z ^ z >> 31
    }
}

/// Random bytes that a seed repeats.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class SeededEntropy: Entropy, @unchecked Sendable {
    private var generator: SeededGenerator

    package init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    package func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: generator.next() >> 56) }
    }
}
