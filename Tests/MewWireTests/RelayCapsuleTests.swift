import MewBase
import MewIdentity
import MewWire
import Testing

@Suite("Capsules of a relay over HTTP/3")
struct RelayCapsuleTests {
    private func node() throws -> NodeID { try #require(NodeID(bytes: [UInt8](repeating: 7, count: 32))) }

    private func handle(_ number: UInt64) throws -> RelayHandle { try #require(RelayHandle(number)) }

    private func samples() throws -> [RelayCapsule] {
        [
            .welcome(
                RelayWelcome(
                    maxPacketBytes: 1_500, handles: 1_024, queueMs: 200, queuedPackets: 64, bytesPerSecond: 0,
                    observed: SocketAddress(ipv4: 0xc000_0201, port: 443))),
            .welcome(
                RelayWelcome(
                    maxPacketBytes: 1_200, handles: 8, queueMs: 100, queuedPackets: 1, bytesPerSecond: 1 << 40,
                    observed: SocketAddress(ipv6High: 0x2001_0db8_0000_0000, low: 1, port: 7_842))),
            .bind(try handle(0), try node()), .bind(try handle(16_383), try node()), .bound(try handle(64)),
            .release(try handle(63)), .ping(1), .pong(.max), .gone(try node()), .health(.rateLimited),
            .warning(cutInMs: 0, returnInMs: 2_000, reason: "the relay restarts"), .close(code: 1, reason: "ende"),
            .datagram([0x40, 0x40, 1, 2, 3]), .datagram([]),
        ]
    }

    private func read(_ bytes: [UInt8], piece: Int) throws -> [RelayCapsule] {
        var (reader, found) = (CapsuleReader(), [RelayCapsule]())
        for start in stride(from: 0, to: bytes.count, by: piece) {
            reader.append(Array(bytes[start..<min(start + piece, bytes.count)]))
            try reader.read {
                found.append($0)
                return true
            }
        }
        return found
    }

    @Test("each comes back as it was, however the stream is cut")
    func roundTrip() throws {
        let samples = try samples()
        let bytes = samples.flatMap(\.encoded)
        for piece in 1...bytes.count { #expect(try read(bytes, piece: piece) == samples) }
    }

    @Test("the bytes are those of the specification")
    func golden() throws {
        #expect(RelayCapsule.bound(try handle(5)).encoded == [0x96, 0xd6, 0x57, 0x02, 1, 5])
        #expect(RelayCapsule.bound(try handle(64)).encoded == [0x96, 0xd6, 0x57, 0x02, 2, 0x40, 0x40])
        #expect(RelayCapsule.datagram([5, 9]).encoded == [0, 2, 5, 9])
        #expect(RelayCapsule.ping(1).encoded == [0x96, 0xd6, 0x57, 0x04, 8, 0, 0, 0, 0, 0, 0, 0, 1])
        #expect(RelayCapsule.close(code: 2, reason: "no").encoded == [0x96, 0xd6, 0x57, 0x09, 3, 2, 0x6e, 0x6f])
    }

    @Test("one cut off anywhere waits for its rest and says nothing")
    func truncation() throws {
        for sample in try samples() {
            let bytes = sample.encoded
            for count in 0..<bytes.count { #expect(try read(Array(bytes[..<count]), piece: max(1, count)) == []) }
        }
    }

    @Test("a type from the future is passed over however long it is, and so are bytes behind the last part")
    func future() throws {
        var bytes: [UInt8] = []
        QUICInteger.append(RelayCapsule.base + 10, to: &bytes)
        QUICInteger.append(100_000, to: &bytes)
        bytes += [UInt8](repeating: 1, count: 100_000)
        QUICInteger.append(RelayCapsule.base + 2, to: &bytes)
        bytes += [3, 5, 1, 2]
        #expect(try read(bytes, piece: 777) == [.bound(try handle(5))])
        #expect(try read(bytes, piece: bytes.count) == [.bound(try handle(5))])
    }

    @Test("one that is too large, too short or names a handle beyond 14 bits ends the conversation")
    func refusals() throws {
        func capsule(_ number: UInt64, length: Int, _ payload: [UInt8]) -> [UInt8] {
            var bytes: [UInt8] = []
            QUICInteger.append(RelayCapsule.base + number, to: &bytes)
            QUICInteger.append(UInt64(length), to: &bytes)
            return bytes + payload
        }
        #expect(throws: RelayCapsuleError.tooLarge(type: RelayCapsule.base + 9, 2_049)) {
            try read(capsule(9, length: 2_049, []), piece: 100)
        }
        #expect(throws: RelayCapsuleError.malformed(type: RelayCapsule.base + 6)) {
            try read(capsule(6, length: 31, [UInt8](repeating: 1, count: 31)), piece: 100)
        }
        #expect(throws: RelayCapsuleError.malformed(type: RelayCapsule.base + 2)) {
            try read(capsule(2, length: 4, [0x80, 1, 0, 0]), piece: 100)
        }
    }

    @Test("a proof is good for its key, its purpose and its connection, and for nothing else")
    func proofs() throws {
        let secret = try #require(SecretKey(seed: [UInt8](repeating: 1, count: 32)))
        let guest = try node()
        let (here, elsewhere) = ([UInt8](repeating: 3, count: 32), [UInt8](repeating: 4, count: 32))
        let proof = try #require(
            RelayTLSProof(fieldValue: RelayTLSProof(secret, for: .name, keyingMaterial: here).fieldValue))
        #expect(proof.node == secret.node && proof.isValid(for: .name, keyingMaterial: here))
        #expect(!proof.isValid(for: .name, keyingMaterial: elsewhere))
        #expect(!proof.isValid(for: .account(of: guest), keyingMaterial: here))
        let account = RelayTLSProof(secret, for: .account(of: guest), keyingMaterial: here)
        #expect(account.isValid(for: .account(of: guest), keyingMaterial: here))
        #expect(!account.isValid(for: .account(of: secret.node), keyingMaterial: here))
        #expect(RelayTLSProof(fieldValue: "\(secret.node.z32)  x") == nil)
    }
}
