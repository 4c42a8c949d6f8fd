internal import MewBase

/// The masking of what a client sends (RFC 6455 §5.3): each byte is combined with one of the four of a key.
enum WebSocketMask {
    /// Masks, or takes the mask off again. Eight bytes at a time.
    ///
    /// - Parameter key: as it lies in memory.
    static func apply(_ key: UInt32, to payload: UnsafeMutableRawBufferPointer) {
        let wide = UInt64(key) << 32 | UInt64(key)
        let whole = payload.count & ~7
        for offset in stride(from: 0, to: whole, by: 8) {
            let word = payload.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            payload.storeBytes(of: word ^ wide, toByteOffset: offset, as: UInt64.self)
        }
        withUnsafeBytes(of: key) { bytes in
            for offset in whole..<payload.count { payload[offset] ^= bytes[offset & 3] }
        }
    }
}

/// The keys of one client. "The masking key needs to be unpredictable" (RFC 6455 §5.3), so they are drawn, many at a time.
struct WebSocketMaskKeys {
    private let entropy: any Entropy
    private var keys: [UInt8] = []
    private var used = 0

    /// Drawn at once: 64 keys.
    private static let drawnBytes = 256

    init(entropy: any Entropy) {
        self.entropy = entropy
    }

    mutating func next() -> UInt32 {
        if used == keys.count { (keys, used) = (entropy.bytes(Self.drawnBytes), 0) }
        defer { used += 4 }
        return keys.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: used, as: UInt32.self) }
    }
}
