import MewWire

/// Feeds both decoders of messages. The first byte chooses direction and kind of link; what is accepted must be written again
/// and read as the same frame.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMessages(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: bytes, count: count))
    guard let choice = input.first else { return 0 }
    let link: ApplicationProtocol = choice & 1 == 0 ? .native : .stock
    let message = Array(input.dropFirst())
    if choice & 2 == 0 {
        guard case .decoded(let frame) = ClientFrame.decode(message, from: link) else { return 0 }
        guard let again = frame.encoded(for: link) else { fatalError("decoded what does not exist: \(frame)") }
        precondition(ClientFrame.decode(again, from: link) == .decoded(frame), "another frame: \(frame)")
    } else {
        guard case .decoded(let frame) = DaemonFrame.decode(message, from: link) else { return 0 }
        guard let again = frame.encoded(for: link) else { fatalError("decoded what does not exist: \(frame)") }
        precondition(DaemonFrame.decode(again, from: link) == .decoded(frame), "another frame: \(frame)")
    }
    return 0
}
