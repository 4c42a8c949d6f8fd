import MewBase
import Synchronization

/// Bytes that repeat with the seed (splitmix64).
final class SeededEntropy: Entropy {
    private let state: Mutex<UInt64>

    init(seed: UInt64) {
        state = Mutex(seed)
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: next()) }
    }

    private func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}

/// Gives the same byte for ever: the ends of the jitter.
struct ConstantEntropy: Entropy {
    let value: UInt64

    func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        withUnsafeBytes(of: value) { source in
            for index in buffer.indices { buffer[index] = source[index % 8] }
        }
    }
}
