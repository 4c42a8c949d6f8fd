import MewBase
import MewPath

/// Feeds what a relay's STUN server reads, what a survey reads, and the server itself. What is accepted must be written again and
/// read as the same, and an answer must not be longer than its request by more than the three addresses it tells.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzStun(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: bytes, count: count))
    if case .request(let request)? = StunRequest.read(input) {
        precondition(StunRequest.read(request.encoded) == .request(request), "another request: \(request)")
    }
    if let reply = StunReply.read(input), case .success = reply.content {
        precondition(StunReply.read(reply.encoded) == reply, "another reply: \(reply)")
    }
    var service = StunService()
    let arrival = StunService.Arrival(
        from: SocketAddress(ipv6High: 1 << 61, low: 1, port: 1), to: SocketAddress(ipv6High: 1 << 61, low: 2, port: 2),
        otherPort: 3)
    switch service.hear(input, arrival, now: Instant(nanoseconds: 1)) {
    case .answer(let answer, _): check(answer, of: input)
    case .refuse(let answer): check(answer, of: input)
    case .overBudget: fatalError("the first packet of all")
    case .noise: break
    }
    return 0
}

private func check(_ answer: [UInt8], of request: [UInt8]) {
    precondition(answer.count <= request.count + 72, "an answer of \(answer.count) bytes to \(request.count)")
    precondition(StunReply.read(answer) != nil, "an answer that cannot be read")
}
