import MewIdentity
import MewWire

/// Both framings. The first byte chooses which and how the rest is cut; the messages must not depend on the cuts.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFramings(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    let piece = Int(start[0] >> 2) + 1
    switch start[0] & 3 {
    case 0: check(bytes, piece) { WebSocketFraming(role: .server, maxMessageBytes: 4_096, entropy: SystemEntropy()) }
    case 1: check(bytes, piece) { WebSocketFraming(role: .client, maxMessageBytes: 4_096, entropy: SystemEntropy()) }
    default: check(bytes, piece) { NativeFraming(maxMessageBytes: 4_096) }
    }
    return 0
}

private func check(_ bytes: [UInt8], _ piece: Int, make: () -> some MessageFraming) {
    let whole = FramingOutcome(make(), bytes, piece: max(1, bytes.count))
    precondition(FramingOutcome(make(), bytes, piece: piece) == whole, "other cuts, other messages")
}
