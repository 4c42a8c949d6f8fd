import MewIdentity
import MewWire

/// Pairing payloads and node IDs; what is accepted prints and parses back to itself.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPayload(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    if let payload = try? PairingPayload(parsing: text) {
        precondition((try? PairingPayload(parsing: payload.text))?.text == payload.text, "another payload printed")
        precondition((try? PairingPayload(parsing: payload.link))?.node == payload.node, "another node in the link")
    }
    if let node = try? NodeID(text: text) {
        precondition((try? NodeID(text: node.z32)) == node && (try? NodeID(text: node.hex)) == node, "another node ID")
    }
    return 0
}
