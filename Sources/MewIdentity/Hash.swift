internal import CSodium

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
    public static let byteCount = 32

    /// 32 bytes.
    public static func digest(_ bytes: [UInt8]) -> [UInt8] {
        Sodium.start()
        var digest = [UInt8](repeating: 0, count: byteCount)
        crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
        return digest
    }
}

/// HMAC with SHA-256 (RFC 2104) and the key derivation built on it (RFC 5869).
public enum HMACSHA256 {
    /// 32 bytes. Compare tags with `ConstantTime.areEqual` only.
    public static func tag(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        Sodium.start()
        var state = crypto_auth_hmacsha256_state()
        var tag = [UInt8](repeating: 0, count: 32)
        crypto_auth_hmacsha256_init(&state, key, key.count)
        crypto_auth_hmacsha256_update(&state, bytes, UInt64(bytes.count))
        crypto_auth_hmacsha256_final(&state, &tag)
        sodium_memzero(&state, MemoryLayout.size(ofValue: state))
        return tag
    }

    /// HKDF: a key of `byteCount` bytes (at most 8,160) for the purpose that `info` names.
    public static func derive(from secret: [UInt8], salt: [UInt8], info: [UInt8], byteCount: Int) -> [UInt8] {
        precondition((1...255 * 32).contains(byteCount), "RFC 5869 §2.3: at most 255 blocks")
        let pseudorandomKey = tag(of: secret, key: salt)
        var output: [UInt8] = []
        var block: [UInt8] = []
        var counter: UInt8 = 0
        while output.count < byteCount {
            counter += 1
            block = tag(of: block + info + [counter], key: pseudorandomKey)
            output += block
        }
        return Array(output.prefix(byteCount))
    }
}

public enum ConstantTime {
    /// True when both are the same bytes. The time taken tells only their lengths.
    public static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        Sodium.start()
        return left.count == right.count && sodium_memcmp(left, right, left.count) == 0
    }
}
