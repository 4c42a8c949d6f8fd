internal import CSodium
public import MewBase

/// The secret half of a node's identity: a 32-byte seed (RFC 8032 §5.1.5).
///
/// The seed lives in memory of its own that is locked, fenced and wiped on release. It is printed by nothing, compared with
/// nothing and encoded by nothing; `pkcs8` and `withSeed` are the only ways out.
public struct SecretKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    private let secret: SecretMemory

    /// The public half.
    public let node: NodeID

    public static let byteCount = 32

    /// Nil unless there are exactly 32 bytes.
    public init?(seed: some Collection<UInt8>) {
        guard seed.count == Self.byteCount else { return nil }
        Sodium.start()
        secret = SecretMemory(seed)
        var publicKey = [UInt8](repeating: 0, count: 32)
        var expanded = [UInt8](repeating: 0, count: 64)
        let status = secret.withBytes { seed in crypto_sign_seed_keypair(&publicKey, &expanded, seed) }
        sodium_memzero(&expanded, expanded.count)
        guard status == 0, let node = NodeID(bytes: publicKey) else { return nil }
        self.node = node
    }

    public static func generate(entropy: some Entropy) -> SecretKey {
        var seed = entropy.bytes(byteCount)
        defer { sodium_memzero(&seed, seed.count) }
        guard let key = SecretKey(seed: seed) else { preconditionFailure("every 32 bytes are a seed") }
        return key
    }

    public func sign(_ message: [UInt8], context: SigningContext) -> Signature {
        sign(raw: context.input(message))
    }

    /// Signs exactly these bytes: only for the formats of iroh, which bring their own separation of purposes
    /// (spec/iroh-wire.md §4.3, §5.3). Everything of ours has a `SigningContext`.
    package func sign(raw message: [UInt8]) -> Signature {
        var publicKey = [UInt8](repeating: 0, count: 32)
        var expanded = [UInt8](repeating: 0, count: 64)
        defer { sodium_memzero(&expanded, expanded.count) }
        var signature = [UInt8](repeating: 0, count: 64)
        _ = secret.withBytes { seed in crypto_sign_seed_keypair(&publicKey, &expanded, seed) }
        crypto_sign_detached(&signature, nil, message, UInt64(message.count), expanded)
        guard let result = Signature(bytes: signature) else { preconditionFailure("64 bytes are a signature") }
        return result
    }

    /// A 32-byte key for one purpose. Knowing it tells nothing about the seed or about another purpose's key.
    public func derivedKey(_ purpose: DerivedKeyPurpose) -> [UInt8] {
        withSeed { seed in
            HMACSHA256.derive(
                from: seed, salt: Array("mew/derived-key/1".utf8), info: Array(purpose.label.utf8),
                byteCount: Self.byteCount)
        }
    }

    /// The key pair as PKCS#8 (RFC 8410 §7), 48 bytes: what the TLS library loads. The caller wipes it.
    package var pkcs8: [UInt8] { withSeed { Self.pkcs8Prefix + $0 } }

    private static let pkcs8Prefix: [UInt8] = [
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
    ]

    /// Lends the seed; the copy is wiped when `body` returns.
    package func withSeed<Result>(_ body: ([UInt8]) -> Result) -> Result {
        var seed = secret.withBytes { Array(UnsafeBufferPointer(start: $0, count: Self.byteCount)) }
        defer { sodium_memzero(&seed, seed.count) }
        return body(seed)
    }

    public var description: String { "‹secret›" }
    public var debugDescription: String { description }
}

/// Names what a derived key is for. One key, one purpose.
public struct DerivedKeyPurpose: Hashable, Sendable {
    let label: String

    public init(label: String) {
        self.label = label
    }

    /// QUIC stateless reset tokens (RFC 9000 §10.3.2): a restarted daemon can still reset.
    public static let statelessReset = DerivedKeyPurpose(label: "quic/stateless-reset")
    /// QUIC Retry and address validation tokens (RFC 9000 §8.1).
    public static let addressToken = DerivedKeyPurpose(label: "quic/address-token")
}

/// Bytes in libsodium's guarded heap: kept out of swap and core dumps where the system allows, read-only after they are
/// written, wiped on release.
///
/// `@unchecked Sendable`: the pointer is set once in `init` and the memory behind it is never written afterwards (the
/// kernel enforces that), so any thread may read it.
private final class SecretMemory: @unchecked Sendable {
    private let pointer: UnsafeMutablePointer<UInt8>

    /// Copies `bytes` without leaving another copy behind.
    init(_ bytes: some Collection<UInt8>) {
        guard let memory = sodium_malloc(bytes.count) else { preconditionFailure("out of memory for a secret key") }
        pointer = memory.bindMemory(to: UInt8.self, capacity: bytes.count)
        _ = UnsafeMutableBufferPointer(start: pointer, count: bytes.count).initialize(fromContentsOf: bytes)
        sodium_mprotect_readonly(memory)
    }

    deinit {
        sodium_free(pointer)
    }

    func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        body(UnsafePointer(pointer))
    }
}
