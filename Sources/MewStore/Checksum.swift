/// A checksum against failing disks, not against people: FNV-1a of 64 bits (draft-eastlake-fnv).
enum Checksum {
    static func of(_ bytes: [UInt8]) -> Int64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return Int64(bitPattern: hash)
    }
}
