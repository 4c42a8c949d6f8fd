/// The frames we write into a WebSocket (RFC 6455 §5.2): whole messages, not masked by a server, masked by a client.
enum WebSocketWriter {
    // MARK: - A server's frames

    static func byteCount(payloadBytes: Int) -> Int { headBytes(payloadBytes) + payloadBytes }

    /// Writes a whole frame to `target`, which has exactly the bytes that it needs.
    static func write(
        _ opcode: WebSocketReader.Opcode, _ payload: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer
    ) {
        writeHead(opcode, payload.count, target)
        UnsafeMutableRawBufferPointer(rebasing: target[headBytes(payload.count)...]).copyMemory(from: payload)
    }

    /// The same with a payload that `fill` writes.
    static func write(
        _ opcode: WebSocketReader.Opcode, payloadBytes: Int, to target: UnsafeMutableRawBufferPointer,
        _ fill: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        writeHead(opcode, payloadBytes, target)
        fill(UnsafeMutableRawBufferPointer(rebasing: target[headBytes(payloadBytes)...]))
    }

    static func frame(_ opcode: WebSocketReader.Opcode, _ payload: [UInt8]) -> [UInt8] {
        array(byteCount(payloadBytes: payload.count)) { target in
            payload.withUnsafeBytes { write(opcode, $0, to: target) }
        }
    }

    // MARK: - A client's frames

    static func maskedByteCount(payloadBytes: Int) -> Int { headBytes(payloadBytes) + 4 + payloadBytes }

    /// Writes a frame to `target`, which has exactly the bytes that it needs, with the payload that `fill` writes.
    static func writeMasked(
        _ opcode: WebSocketReader.Opcode, key: UInt32, payloadBytes: Int, to target: UnsafeMutableRawBufferPointer,
        _ fill: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        let head = headBytes(payloadBytes)
        writeHead(opcode, payloadBytes, target)
        target[1] |= 0x80
        target.storeBytes(of: key, toByteOffset: head, as: UInt32.self)
        let payload = UnsafeMutableRawBufferPointer(rebasing: target[(head + 4)...])
        fill(payload)
        WebSocketMask.apply(key, to: payload)
    }

    static func masked(_ opcode: WebSocketReader.Opcode, key: UInt32, _ payload: [UInt8]) -> [UInt8] {
        array(maskedByteCount(payloadBytes: payload.count)) { target in
            writeMasked(opcode, key: key, payloadBytes: payload.count, to: target) { $0.copyBytes(from: payload) }
        }
    }

    private static func array(_ count: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            write(UnsafeMutableRawBufferPointer(buffer))
            initialized = count
        }
    }

    // MARK: -

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
