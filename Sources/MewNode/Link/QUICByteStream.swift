import MewQUIC
import MewQUICCore
import MewWire

/// A QUIC stream as a channel uses it.
struct QUICByteStream: ByteStream {
    let stream: QUICStream

    func read() async throws(ChannelError) -> [UInt8]? {
        do {
            return try await stream.read()
        } catch {
            throw ChannelError(error)
        }
    }

    func write(_ bytes: [UInt8], from offset: Int) async throws(ChannelError) -> Int {
        do {
            return try await stream.writeSome(bytes, from: offset)
        } catch {
            throw ChannelError(error)
        }
    }

    func writeNow(_ bytes: [UInt8], from offset: Int) async throws(ChannelError) -> Int {
        do {
            return try await stream.writeNow(bytes, from: offset)
        } catch {
            throw ChannelError(error)
        }
    }

    func finish() async { await stream.finish() }
    func reset(code: UInt64) async { await stream.reset(code: code) }
    func stop(code: UInt64) async { await stream.stop(code: code) }
}
