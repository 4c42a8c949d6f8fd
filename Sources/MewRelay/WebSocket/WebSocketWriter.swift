/// The frames we write into a WebSocket (RFC 6455 §5.2): whole messages, not masked by a server, masked by a client.
enum WebSocketWriter {
    /// What stands before `payloadBytes` at most.
    static let maxHeadBytes = 10

    /// One frame with these payload parts, one after the other.
    static func frame(
        _ opcode: WebSocketReader.Opcode, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) -> [UInt8] {
        let count = first.count + second.count
        let head = headBytes(count)
        return [UInt8](unsafeUninitializedCapacity: head + count) { buffer, initialized in
            let target = UnsafeMutableRawBufferPointer(buffer)
            writeHead(opcode, count, target)
            UnsafeMutableRawBufferPointer(rebasing: target[head...]).copyMemory(from: first)
            UnsafeMutableRawBufferPointer(rebasing: target[(head + first.count)...]).copyMemory(from: second)
            initialized = head + count
        }
    }

    static func frame(_ opcode: WebSocketReader.Opcode, _ payload: [UInt8]) -> [UInt8] {
        payload.withUnsafeBytes { frame(opcode, $0, UnsafeRawBufferPointer(start: nil, count: 0)) }
    }

    /// A client's frame with the payload that `fill` writes.
    static func masked(
        _ opcode: WebSocketReader.Opcode, key: UInt32, payloadBytes: Int,
        _ fill: (UnsafeMutableRawBufferPointer) -> Void
    ) -> [UInt8] {
        let head = headBytes(payloadBytes)
        return [UInt8](unsafeUninitializedCapacity: head + 4 + payloadBytes) { buffer, initialized in
            let target = UnsafeMutableRawBufferPointer(buffer)
            writeHead(opcode, payloadBytes, target)
            target[1] |= 0x80
            target.storeBytes(of: key, toByteOffset: head, as: UInt32.self)
            let payload = UnsafeMutableRawBufferPointer(rebasing: target[(head + 4)..<(head + 4 + payloadBytes)])
            fill(payload)
            WebSocketMask.apply(key, to: payload)
            initialized = head + 4 + payloadBytes
        }
    }

    /// RFC 6455 §5.5.1: a code, and a reason that says so to a person. At most 123 bytes of it.
    static func close(code: UInt16, reason: String) -> [UInt8] {
        var text = reason
        while text.utf8.count > 123 { text.removeLast() }
        return frame(.close, [UInt8(code >> 8), UInt8(truncatingIfNeeded: code)] + text.utf8)
    }

    private static func headBytes(_ count: Int) -> Int {
        switch count {
        case ..<126: 2
        case ..<65_536: 4
        default: 10
        }
    }

    private static func writeHead(
        _ opcode: WebSocketReader.Opcode, _ count: Int, _ target: UnsafeMutableRawBufferPointer
    ) {
        target[0] = 0x80 | opcode.rawValue
        switch headBytes(count) {
        case 2:
            target[1] = UInt8(count)
        case 4:
            target[1] = 126
            target.storeBytes(of: UInt16(count).bigEndian, toByteOffset: 2, as: UInt16.self)
        default:
            target[1] = 127
            target.storeBytes(of: UInt64(count).bigEndian, toByteOffset: 2, as: UInt64.self)
        }
    }
}
