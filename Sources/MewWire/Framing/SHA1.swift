internal import MewBase

/// SHA-1 (FIPS 180-4 §6.1), for `Sec-WebSocket-Accept` and nothing else: RFC 6455 §4.2.2 demands it there, where it protects
/// nothing. Never use it for security.
enum SHA1 {
    /// 20 bytes.
    static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
        let padded = pad(bytes)
        for start in stride(from: 0, to: padded.count, by: 64) {
            compress(padded[start..<start + 64], into: &state)
        }
        return state.flatMap(\.bigEndianBytes)
    }

    private static func pad(_ bytes: [UInt8]) -> [UInt8] {
        let zeros = (119 - bytes.count % 64) % 64
        let bitCount = UInt64(bytes.count) * 8
        return bytes + [0x80] + [UInt8](repeating: 0, count: zeros)
            + bitCount.bigEndianBytes
    }

    private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var schedule = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
            block[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        for round in 16..<80 {
            let mixed = schedule[round - 3] ^ schedule[round - 8] ^ schedule[round - 14] ^ schedule[round - 16]
            schedule.append(rotate(mixed, by: 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (round, word) in schedule.enumerated() {
            let (mixed, constant) = step(round, b, c, d)
            let next = rotate(a, by: 5) &+ mixed &+ e &+ constant &+ word
            (a, b, c, d, e) = (next, a, rotate(b, by: 30), c, d)
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }

    private static func step(_ round: Int, _ b: UInt32, _ c: UInt32, _ d: UInt32) -> (UInt32, UInt32) {
        switch round {
        case ..<20: (b & c | ~b & d, 0x5a82_7999)
        case ..<40: (b ^ c ^ d, 0x6ed9_eba1)
        case ..<60: (b & c | b & d | c & d, 0x8f1b_bcdc)
        default: (b ^ c ^ d, 0xca62_c1d6)
        }
    }

    private static func rotate(_ word: UInt32, by count: UInt32) -> UInt32 {
        word << count | word >> (32 - count)
    }
}
