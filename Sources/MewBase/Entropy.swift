/// Where random bytes come from. The system's generator in production, a seeded one on the simulated network.
public protocol Entropy: Sendable {
    /// Overwrites all of `buffer`. Never fails: a machine without randomness must not run a node.
    func fill(_ buffer: UnsafeMutableRawBufferPointer)
}

extension Entropy {
    public func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            fill(UnsafeMutableRawBufferPointer(buffer))
            initialized = count
        }
    }

    public func uint64() -> UInt64 {
        var value: UInt64 = 0
        withUnsafeMutableBytes(of: &value) { fill($0) }
        return value
    }
}
