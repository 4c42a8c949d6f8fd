import MewBase
import MewIdentity
import Testing

@testable import MewQUICCore

@Suite("Retry")
struct RetryTests {
    private let packets = StatelessPackets(CorePair.serverKey)
    private let address = CorePair.clientAddress

    /// A dialler's first packet, and the one it sends after a Retry.
    private func initials() throws -> (
        pair: CorePair, first: InitialPacket, second: InitialPacket, secondBytes: [UInt8]
    ) {
        let pair = try CorePair()
        let first = try firstPacket(pair.client, now: pair.now)
        let retry = try #require(packets.retry(first.0, source: address, entropy: pair.entropy, now: pair.now))
        retry.withUnsafeBytes { bytes in
            _ = pair.client.receive(
                bytes, on: CorePath(number: 1, remote: CorePair.serverAddress), ecn: 0, now: pair.now)
        }
        let second = try firstPacket(pair.client, now: pair.now)
        return (pair, first.0, second.0, second.1)
    }

    private func firstPacket(_ core: ConnectionCore, now: Instant) throws -> (InitialPacket, [UInt8]) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_535, alignment: 16)
        defer { memory.deallocate() }
        core.beginBurst()
        let batch = try #require(core.transmit(into: memory, now: now))
        let bytes = Array(memory[..<batch.segmentSize])
        guard case .initial(let initial) = bytes.withUnsafeBytes({ InitialPacket.read($0) }) else {
            throw QUICError.refused("not an Initial")
        }
        return (initial, bytes)
    }

    @Test("a dialler that answers a Retry from its address is accepted with its first choice of ID")
    func acceptsToken() throws {
        let (pair, first, second, bytes) = try initials()
        #expect(first.token.isEmpty)
        #expect(packets.verify(first, source: address, now: pair.now) == .absent)
        #expect(
            packets.verify(second, source: address, now: pair.now) == .valid(originalDestination: first.destination))
        var accepted = second
        accepted.originalDestination = first.destination
        let server = try ConnectionCore.accept(
            accepted, protocols: ["test/1"], path: CorePath(number: 1, remote: address),
            credentials: try TLSCredentials(CorePair.serverKey), resetKey: ResetKey(CorePair.serverKey),
            configuration: TransportConfiguration(), entropy: pair.entropy, now: pair.now)
        pair.adopt(server: server)
        bytes.withUnsafeBytes { bytes in
            _ = server.receive(bytes, on: CorePath(number: 1, remote: address), ecn: 0, now: pair.now)
        }
        #expect(try pair.run { pair.isEstablished })
    }

    @Test(
        "a token is worth nothing from another address, later than ten seconds, from another node, or with a bit changed"
    )
    func refusesToken() throws {
        let (pair, first, second, _) = try initials()
        #expect(packets.verify(second, source: address.with(port: 1), now: pair.now) == .invalid)
        let lifetime = StatelessPackets.tokenLifetime
        let last = pair.now.advanced(by: lifetime - .nanoseconds(1))
        #expect(packets.verify(second, source: address, now: last) == .valid(originalDestination: first.destination))
        #expect(packets.verify(second, source: address, now: pair.now.advanced(by: lifetime)) == .invalid)
        let other = StatelessPackets(CorePair.clientKey)
        #expect(other.verify(second, source: address, now: pair.now) == .invalid)
        // The first byte says that it is a Retry token at all.
        for index in 1..<second.token.count {
            var token = second.token
            token[index] ^= 1
            let changed = InitialPacket(
                version: second.version, destination: second.destination, source: second.source, token: token)
            #expect(packets.verify(changed, source: address, now: pair.now) == .invalid, "byte \(index)")
        }
    }
}
