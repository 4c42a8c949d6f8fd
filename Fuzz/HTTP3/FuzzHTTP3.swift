import MewBase
import MewHTTP3
import MewWire

/// An HTTP/3 core fed by a hostile peer, and the capsules of a relay. The first byte chooses which; then for HTTP/3 each piece begins with
/// its stream and its length.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP3(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    switch start[0] & 3 {
    case 0: checkCore(.server, bytes)
    case 1: checkCore(.client, bytes)
    case 2: checkCapsules(bytes, piece: Int(start[0] >> 2) + 1)
    default: checkDatagram(bytes)
    }
    return 0
}

private func checkCore(_ role: HTTP3Core.Role, _ bytes: [UInt8]) {
    do throws(HTTP3Failure) {
        let core = try HTTP3Core(role)
        let ours: [Int64] = role == .client ? [2, 6, 10] : [3, 7, 11]
        try core.bind(control: ours[0], encoder: ours[1], decoder: ours[2])
        if role == .client {
            let head = HTTP3Head([
                (":method", "CONNECT"), (":protocol", "mew-relay-1"), (":scheme", "https"), (":authority", "a"),
                (":path", "/relay"),
            ])
            try core.request(head, on: 0, staysOpen: true)
        }
        try feed(core, role, bytes)
    } catch {
        precondition(error.code >= 0x100, "a failure has a code of RFC 9114")
    }
}

/// QUIC lets nobody write on our own unidirectional streams, and a server not on requests that were never sent.
private func feed(_ core: HTTP3Core, _ role: HTTP3Core.Role, _ bytes: [UInt8]) throws(HTTP3Failure) {
    var rest = bytes[...]
    var ended: Set<Int64> = []
    while let first = rest.popFirst(), let length = rest.popFirst() {
        let streams: [Int64] = role == .server ? [0, 4, 8, 2, 6, 10, 14, 18] : [0, 3, 7, 11, 15, 19, 0, 3]
        let stream = streams[Int(first & 7)]
        guard !ended.contains(stream) else { continue }
        let piece = Array(rest.prefix(Int(length)))
        rest = rest.dropFirst(Int(length))
        let isLast = first & 0x80 != 0
        if isLast { ended.insert(stream) }
        try core.receive(piece, on: stream, isLast: isLast)
        for event in core.takeEvents() {
            if case .head(let stream, _) = event, role == .server {
                try core.respond(HTTP3Head([(":status", "200")]), on: stream, staysOpen: true)
                _ = try core.send([1, 2, 3], on: stream)
            }
        }
        try core.write { .bytes($0.bytes.count) }
    }
}

private func checkCapsules(_ bytes: [UInt8], piece: Int) {
    let whole = capsules(bytes, piece: max(1, bytes.count))
    precondition(capsules(bytes, piece: piece) == whole, "other cuts, other capsules")
    for capsule in whole ?? [] {
        precondition(capsules(capsule.encoded, piece: 1) == [capsule], "what is read can be written")
    }
}

/// Nil when they end with something that is none.
private func capsules(_ bytes: [UInt8], piece: Int) -> [RelayCapsule]? {
    var (reader, found) = (CapsuleReader(), [RelayCapsule]())
    do throws(RelayCapsuleError) {
        for start in stride(from: 0, to: bytes.count, by: piece) {
            reader.append(Array(bytes[start..<min(start + piece, bytes.count)]))
            try reader.read {
                found.append($0)
                return true
            }
        }
    } catch {
        return nil
    }
    return found
}

private func checkDatagram(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in
        guard let (stream, payload) = HTTPDatagram.read(bytes) else { return }
        precondition(stream >= 0 && stream & 3 == 0 && payload.count < bytes.count, "a request's stream")
    }
}
