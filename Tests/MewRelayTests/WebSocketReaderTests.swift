import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewRelay

@Suite("What a WebSocket client sends, read in place")
struct WebSocketReaderTests {
    /// Reads `bytes` in pieces, as the connection does: what is left over stands before the next piece.
    private func read(
        _ bytes: [UInt8], pieceBytes: Int = .max, maxMessageBytes: Int = 1 << 16
    ) throws -> [(WebSocketReader.Opcode, [UInt8])] {
        var reader = WebSocketReader(maxMessageBytes: maxMessageBytes)
        var messages: [(WebSocketReader.Opcode, [UInt8])] = []
        var unread: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: min(pieceBytes, bytes.count)) {
            unread += bytes[start..<min(start + min(pieceBytes, bytes.count), bytes.count)]
            unread = try unread.withUnsafeMutableBytes { buffer in
                var input = buffer
                try reader.read(&input) { opcode, payload in
                    messages.append((opcode, Array(payload)))
                    return true
                }
                return Array(input)
            }
        }
        return messages
    }

    /// A masked frame as a client writes it.
    private func frame(
        _ first: UInt8, _ payload: [UInt8], mask: [UInt8] = [1, 2, 3, 4], length: [UInt8]? = nil
    ) -> [UInt8] {
        let shortest: [UInt8] =
            payload.count < 126
            ? [UInt8(payload.count)]
            : payload.count < 65_536
                ? [126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
                : [127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
        var length = length ?? shortest
        length[0] |= 0x80
        return [first] + length + mask + payload.enumerated().map { $1 ^ mask[$0 & 3] }
    }

    @Test("what wslay writes is read, in pieces of every kind", arguments: [1, 3, 7, 1_000, 100_000])
    func againstWslay(pieceBytes: Int) throws {
        let client = WebSocketFraming(role: .client, kind: .binary, entropy: SystemEntropy())
        let sizes = [0, 1, 7, 8, 125, 126, 127, 1_200, 65_535, 65_536]
        let messages = sizes.map { size in (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) } }
        let bytes = try messages.flatMap { try client.encode($0) } + client.encodeEnd()
        let found = try read(bytes, pieceBytes: pieceBytes)
        #expect(found.map(\.0) == messages.map { _ in .binary } + [.close])
        #expect(found.map(\.1) == messages + [[]])
    }

    @Test("what is written here is read by wslay")
    func writer() throws {
        let client = WebSocketFraming(role: .client, kind: .binary, entropy: SystemEntropy())
        let sizes = [1, 125, 126, 65_535, 65_536]
        client.receive(sizes.flatMap { WebSocketWriter.frame(.binary, [UInt8](repeating: 7, count: $0)) })
        for size in sizes {
            #expect(try client.next() == .message([UInt8](repeating: 7, count: size)))
        }
        client.receive(WebSocketWriter.close(code: 1001, reason: String(repeating: "ä", count: 200)))
        #expect(try client.next() == .ended)
    }

    @Test("a message in fragments is one, and control frames may stand between them")
    func fragments() throws {
        let bytes = frame(0x02, [1]) + frame(0x89, [9]) + frame(0x00, [2]) + frame(0x80, [3]) + frame(0x82, [4])
        for pieceBytes in [1, bytes.count] {
            let found = try read(bytes, pieceBytes: pieceBytes)
            #expect(found.map(\.0) == [.ping, .binary, .binary])
            #expect(found.map(\.1) == [[9], [1, 2, 3], [4]])
        }
    }

    @Test("what breaks RFC 6455 is refused")
    func violations() {
        let unmasked: [UInt8] = [0x82, 1, 0]
        let broken: [[UInt8]] = [
            unmasked, frame(0xc2, [1]), frame(0x83, [1]), frame(0x8b, [1]), frame(0x80, [1]), frame(0x09, [1]),
            frame(0x02, [1]) + frame(0x82, [1]), frame(0x82, [1], length: [126, 0, 1]),
            frame(0x82, [1], length: [127, 0, 0, 0, 0, 0, 0, 0, 1]),
            frame(0x82, [1], length: [127, 255, 255, 255, 255, 255, 255, 255, 255]),
            frame(0x89, [UInt8](repeating: 0, count: 126)),
        ]
        for bytes in broken {
            #expect(throws: WebSocketReader.Violation.protocolError) { try read(bytes) }
        }
    }

    @Test("a message of the largest size is read, one byte more is refused before it arrives, whole or in fragments")
    func bounds() throws {
        let full = [UInt8](repeating: 1, count: 1_000)
        #expect(try read(frame(0x82, full), maxMessageBytes: 1_000).count == 1)
        let head = Array(frame(0x82, full + [1]).prefix(8))
        #expect(throws: WebSocketReader.Violation.tooLarge) { try read(head, maxMessageBytes: 1_000) }
        let half = [UInt8](repeating: 1, count: 500)
        #expect(try read(frame(0x02, half) + frame(0x80, half), maxMessageBytes: 1_000).first?.1.count == 1_000)
        #expect(throws: WebSocketReader.Violation.tooLarge) {
            try read(frame(0x02, half) + frame(0x80, half + [1]), maxMessageBytes: 1_000)
        }
    }

    @Test("random bytes never trap and never make more than they are")
    func hostile() {
        var random = SplitMix64(state: 6455)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 1...64, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let found = try? read(bytes, pieceBytes: Int.random(in: 1...64, using: &random))
            #expect((found ?? []).reduce(0) { $0 + $1.1.count } <= bytes.count)
        }
    }
}
