import MewBase
import MewIdentity
import MewNode
import MewWire
import Testing

@Suite("Upgrade of the stock stream")
struct StockUpgradeTests {
    @Test(
        "client and server agree however the bytes are cut, and frames behind the head are kept",
        arguments: [1, 7, 4_096])
    func agree(chunk: Int) async throws {
        let (near, far) = PipeStream.pair(capacity: 64, chunk: chunk)
        let request = StockUpgrade.Request(entropy: SystemEntropy())
        async let answered = StockUpgrade.answer(on: far)
        #expect(try await request.perform(on: near) == [])
        #expect(try await answered == [])

        let early = PipeStream.pair()
        let bytes =
            Array(
                "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n".utf8)
            + Array("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".utf8) + [0x81, 0x80]
        #expect(try await early.near.write(bytes, from: 0) == bytes.count)
        #expect(try await StockUpgrade.answer(on: early.far) == [0x81, 0x80])
    }

    @Test("what is no upgrade is answered with a status and an end, and read no further")
    func refused() async throws {
        let (near, far) = PipeStream.pair()
        let bytes = Array("POST / HTTP/1.1\r\n\r\n".utf8)
        #expect(try await near.write(bytes, from: 0) == bytes.count)
        await #expect(throws: ChannelError.protocolViolation("the request line is no GET of HTTP/1.1")) {
            try await StockUpgrade.answer(on: far)
        }
        let answer = try #require(await near.read())
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
        #expect(try await near.read() == nil)
        #expect(near.outgoing.stopCode == ChannelResetCode.violation)
    }

    @Test("a daemon that answers something else is a violation, and the stream is given up")
    func otherAnswer() async throws {
        let (near, far) = PipeStream.pair()
        let bytes = Array("HTTP/1.1 403 Forbidden\r\n\r\n".utf8)
        #expect(try await far.write(bytes, from: 0) == bytes.count)
        let request = StockUpgrade.Request(entropy: SystemEntropy())
        await #expect(throws: ChannelError.protocolViolation("the daemon answered HTTP status 403 instead of 101")) {
            try await request.perform(on: near)
        }
        #expect(near.outgoing.resetCode == ChannelResetCode.violation)
    }

    @Test("a stream that ends before the upgrade is a violation on either side")
    func ended() async throws {
        let (near, far) = PipeStream.pair()
        await near.finish()
        let error = ChannelError.protocolViolation("the stream ended before the WebSocket upgrade")
        await #expect(throws: error) { try await StockUpgrade.answer(on: far) }
        let other = PipeStream.pair()
        await other.far.finish()
        let request = StockUpgrade.Request(entropy: SystemEntropy())
        await #expect(throws: error) { try await request.perform(on: other.near) }
    }
}
