/// BLAKE3 of inputs that fit into one chunk, and its key derivation: what the relay handshake of iroh signs
/// (spec/iroh-wire.md §6). Nothing else here uses it; other hashes are SHA-256.
package enum BLAKE3 {
    /// One chunk. Longer inputs would need the tree, and nothing we sign is longer.
    package static let maxInputBytes = 1_024

    /// 32 bytes for the purpose that `context` names.
    ///
    /// - Parameters: at most `maxInputBytes` each.
    package static func deriveKey(context: String, material: [UInt8]) -> [UInt8] {
        let key = chunk(initial, Array(context.utf8), flags: Flag.deriveKeyContext)
        return bytes(of: chunk(key, material, flags: Flag.deriveKeyMaterial))
    }

    /// 32 bytes.
    ///
    /// - Parameter message: at most `maxInputBytes`.
    package static func digest(_ message: [UInt8]) -> [UInt8] {
        bytes(of: chunk(initial, message, flags: 0))
    }

    private enum Flag {
        static let chunkStart: UInt32 = 1
        static let chunkEnd: UInt32 = 2
        static let root: UInt32 = 8
        static let deriveKeyContext: UInt32 = 32
        static let deriveKeyMaterial: UInt32 = 64
    }

    /// The initial words of SHA-256.
    private static let initial: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]

    private static let permutation = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]

    private static let blockBytes = 64

    /// The output words of a single chunk that is the root of its tree.
    private static func chunk(_ key: [UInt32], _ message: [UInt8], flags: UInt32) -> [UInt32] {
        precondition(message.count <= maxInputBytes, "one chunk has 1024 bytes")
        var chaining = key
        let blocks = max(1, (message.count + blockBytes - 1) / blockBytes)
        for index in 0..<blocks {
            let block = message.dropFirst(index * blockBytes).prefix(blockBytes)
            var flags = flags
            if index == 0 { flags |= Flag.chunkStart }
            if index == blocks - 1 { flags |= Flag.chunkEnd | Flag.root }
            chaining = compress(chaining, words(of: block), byteCount: UInt32(block.count), flags: flags)
        }
        return chaining
    }

    private static func compress(
        _ chaining: [UInt32], _ block: [UInt32], byteCount: UInt32, flags: UInt32
    ) -> [UInt32] {
        // Both counter words are zero: there is one chunk only.
        var state = chaining + initial[..<4] + [0, 0, byteCount, flags]
        var message = block
        for round in 0..<7 {
            if round > 0 { message = permutation.map { message[$0] } }
            mixColumns(&state, message)
            mixDiagonals(&state, message)
        }
        return (0..<8).map { state[$0] ^ state[$0 + 8] }
    }

    private static func mixColumns(_ state: inout [UInt32], _ message: [UInt32]) {
        for column in 0..<4 {
            mix(
                &state, (column, 4 + column, 8 + column, 12 + column),
                (message[2 * column], message[2 * column + 1]))
        }
    }

    private static func mixDiagonals(_ state: inout [UInt32], _ message: [UInt32]) {
        for diagonal in 0..<4 {
            mix(
                &state, (diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4),
                (message[8 + 2 * diagonal], message[9 + 2 * diagonal]))
        }
    }

    /// The function G of the specification, on the words of `state` at these places.
    private static func mix(
        _ state: inout [UInt32], _ at: (a: Int, b: Int, c: Int, d: Int), _ message: (UInt32, UInt32)
    ) {
        state[at.a] &+= state[at.b] &+ message.0
        state[at.d] = rotated(state[at.d] ^ state[at.a], by: 16)
        state[at.c] &+= state[at.d]
        state[at.b] = rotated(state[at.b] ^ state[at.c], by: 12)
        state[at.a] &+= state[at.b] &+ message.1
        state[at.d] = rotated(state[at.d] ^ state[at.a], by: 8)
        state[at.c] &+= state[at.d]
        state[at.b] = rotated(state[at.b] ^ state[at.c], by: 7)
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }

    /// Little endian, padded with zeros.
    private static func words(of block: ArraySlice<UInt8>) -> [UInt32] {
        var words = [UInt32](repeating: 0, count: 16)
        for (offset, byte) in block.enumerated() { words[offset / 4] |= UInt32(byte) << UInt32(8 * (offset % 4)) }
        return words
    }

    private static func bytes(of words: [UInt32]) -> [UInt8] {
        words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(8 * $0)) } }
    }
}
