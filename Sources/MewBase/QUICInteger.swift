/// The variable-length integers of RFC 9000 §16.
package enum QUICInteger {
    package static let max: UInt64 = 1 << 62 - 1

    /// In the shortest form.
    package static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        precondition(value <= max, "it has 62 bits")
        let count = byteCount(value)
        let prefix = UInt8(count.trailingZeroBitCount) << 6
        for index in (0..<count).reversed() {
            let byte = UInt8(truncatingIfNeeded: value >> UInt64(8 * index))
            bytes.append(index == count - 1 ? byte | prefix : byte)
        }
    }

    package static func byteCount(_ value: UInt64) -> Int {
        switch value {
        case ..<(1 << 6): 1
        case ..<(1 << 14): 2
        case ..<(1 << 30): 4
        default: 8
        }
    }

    /// The integer that `bytes` begin with and its length; nil when they are too few.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> (value: UInt64, byteCount: Int)? {
        guard let first = bytes.first else { return nil }
        let count = 1 << Int(first >> 6)
        guard bytes.count >= count else { return nil }
        return (bytes[1..<count].reduce(UInt64(first & 0x3f)) { $0 << 8 | UInt64($1) }, count)
    }
}
