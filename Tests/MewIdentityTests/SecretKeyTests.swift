import MewBase
import Testing

@testable import MewIdentity

@Suite("Secret keys and signatures")
struct SecretKeyTests {
    static func key(_ hex: String) throws -> SecretKey {
        try #require(SecretKey(seed: Hex.decode(hex) ?? []))
    }

    let context = SigningContext(label: "mew/test", version: 1)

    @Test("a seed gives the public key that iroh derives", arguments: IdentityVector.all)
    func publicKey(vector: IdentityVector) throws {
        #expect(try Self.key(vector.seed).node == vector.node)
    }

    @Test("a seed is 32 bytes, not one fewer or more")
    func seedLength() {
        #expect(SecretKey(seed: [UInt8](repeating: 1, count: 31)) == nil)
        #expect(SecretKey(seed: [UInt8](repeating: 1, count: 33)) == nil)
    }

    @Test("PKCS#8 is the 48 bytes that real peers accept")
    func pkcs8() throws {
        let seed = String(repeating: "2a", count: 32)
        #expect(Hex.encode(try Self.key(seed).pkcs8) == "302e020100300506032b657004220420" + seed)
    }

    @Test("nothing prints a secret key")
    func redacted() throws {
        let key = try Self.key(String(repeating: "2a", count: 32))
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] {
            #expect(!text.contains("2a2a") && !text.contains("42, 42"))
        }
        #expect("\(key)" == "‹secret›")
    }

    @Test("RFC 8032 §7.1 test 2: the signature of one byte")
    func rfc8032() throws {
        let key = try Self.key("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
        #expect(key.node.hex == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
        #expect(
            Hex.encode(key.sign(raw: [0x72]).bytes)
                == "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00")
    }

    @Test("a signature fits its message, context, version and key only")
    func contexts() throws {
        let key = try Self.key(String(repeating: "2a", count: 32))
        let other = try Self.key(String(repeating: "00", count: 32))
        let message = Array("reach 1".utf8)
        let signature = key.sign(message, context: context)
        #expect(signature.isValid(for: message, context: context, by: key.node))
        #expect(!signature.isValid(for: message + [0], context: context, by: key.node))
        #expect(!signature.isValid(for: message, context: .init(label: "mew/test", version: 2), by: key.node))
        #expect(!signature.isValid(for: message, context: .init(label: "mew/tes", version: 1), by: key.node))
        #expect(!signature.isValid(for: message, context: context, by: other.node))
    }

    @Test("every flipped bit spoils a signature")
    func flippedBits() throws {
        let key = try Self.key(String(repeating: "2a", count: 32))
        let signature = key.sign([1, 2, 3], context: context)
        for bit in 0..<512 {
            var bytes = signature.bytes
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            let spoiled = try #require(Signature(bytes: bytes))
            #expect(!spoiled.isValid(for: [1, 2, 3], context: context, by: key.node))
        }
        #expect(Signature(bytes: signature.bytes.dropLast()) == nil)
    }

    @Test("the second spelling of a signature, S plus the group order, is refused")
    func nonCanonicalS() throws {
        let key = try Self.key(String(repeating: "2a", count: 32))
        var bytes = key.sign([7], context: context).bytes
        // L = 2^252 + 27742317777372353535851937790883648493, little endian (RFC 8032 §5.1).
        let order = try #require(
            Hex.decode("edd3f55c1a631258d69cf7a2def9de14" + String(repeating: "0", count: 30) + "10"))
        var carry: UInt16 = 0
        for index in 0..<32 {
            let sum = UInt16(bytes[32 + index]) + UInt16(order[index]) + carry
            bytes[32 + index] = UInt8(truncatingIfNeeded: sum)
            carry = sum >> 8
        }
        let second = try #require(Signature(bytes: bytes))
        #expect(!second.isValid(for: [7], context: context, by: key.node))
    }

    @Test("a small-order key validates nothing")
    func smallOrderKey() throws {
        // Under the neutral element, R = identity and S = 0 satisfy the equation for any message.
        let node = try #require(NodeID(bytes: [1] + [UInt8](repeating: 0, count: 31)))
        let forged = try #require(Signature(bytes: [1] + [UInt8](repeating: 0, count: 63)))
        #expect(!forged.isValid(for: [1], context: context, by: node))
    }

    @Test("derived keys differ by purpose and by node, and are stable")
    func derivedKeys() throws {
        let key = try Self.key(String(repeating: "2a", count: 32))
        let other = try Self.key(String(repeating: "00", count: 32))
        let reset = key.derivedKey(.statelessReset)
        #expect(reset == key.derivedKey(.statelessReset))
        #expect(reset.count == 32)
        #expect(reset != key.derivedKey(.addressToken))
        #expect(reset != other.derivedKey(.statelessReset))
        // Golden: a changed derivation would make a restarted daemon unable to reset its old connections.
        #expect(Hex.encode(reset) == "3a7bf737d8642298443557284a7427b42546a1e834db39c0b47476b9a884d1cb")
    }
}

@Suite("Hashes")
struct HashTests {
    @Test("SHA-256 of the FIPS 180-4 examples")
    func sha256() {
        #expect(
            Hex.encode(SHA256.digest(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            Hex.encode(SHA256.digest([]))
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }

    @Test("HMAC-SHA256: RFC 4231 test case 2")
    func hmac() {
        #expect(
            Hex.encode(HMACSHA256.tag(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test("HKDF: RFC 5869 test case 1")
    func hkdf() throws {
        let output = HMACSHA256.derive(
            from: [UInt8](repeating: 0x0b, count: 22), salt: Array(0...12), info: Array(0xf0...0xf9), byteCount: 42)
        #expect(
            Hex.encode(output)
                == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
    }

    @Test("constant-time comparison sees every byte and the length")
    func constantTime() {
        let bytes = Array(UInt8(0)..<32)
        #expect(ConstantTime.areEqual(bytes, bytes))
        #expect(ConstantTime.areEqual([], []))
        #expect(!ConstantTime.areEqual(bytes, Array(bytes.dropLast())))
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            #expect(!ConstantTime.areEqual(bytes, other))
        }
    }

    @Test("hex refuses half bytes, capitals and anything that is no digit")
    func hex() {
        #expect(Hex.decode("00ff7f") == [0, 255, 127])
        #expect(Hex.decode("") == [])
        for text in ["0", "0F", "0g", "é0", " 00"] { #expect(Hex.decode(text) == nil) }
    }

    @Test("the system's generator fills every part of a buffer")
    func systemEntropy() {
        // 256 bytes are all zero in one half with probability 2^-1024.
        let bytes = SystemEntropy().bytes(256)
        #expect(bytes.prefix(128).contains { $0 != 0 } && bytes.suffix(128).contains { $0 != 0 })
        #expect(SystemEntropy().bytes(0) == [])
    }
}
