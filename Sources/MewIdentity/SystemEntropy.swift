internal import CSodium
public import MewBase

/// The operating system's generator.
public struct SystemEntropy: Entropy {
    public init() {
        Sodium.start()
    }

    public func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let start = buffer.baseAddress else { return }
        randombytes_buf(start, buffer.count)
    }
}
