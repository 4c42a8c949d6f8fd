import MewIdentity
import MewWire

/// Both halves of the handshake; what was decided on some bytes must stay decided when more follow.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzUpgrade(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let half = Array(bytes.prefix(count / 2))
    let client = WebSocketUpgradeClient(entropy: SystemEntropy())
    let answer = client.step(half)
    precondition(answer == .needMore || client.step(bytes) == answer, "a decision that did not last")
    let request = WebSocketUpgradeServer.step(half)
    precondition(request == .needMore || WebSocketUpgradeServer.step(bytes) == request, "a decision that did not last")
    return 0
}
