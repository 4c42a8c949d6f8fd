import MewBase
import Testing

@testable import MewPath

@Suite("A STUN server for everybody")
struct StunServiceTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let client = SocketAddress(ipv4: 0xc633_6407, port: 4_433)
    private let server = SocketAddress(ipv4: 0xc000_0201, port: 3_340)
    private let transaction = TransactionID((1...12).map { UInt8($0) }[...])

    private func arrival(from: SocketAddress? = nil, otherPort: UInt16? = 7_842) -> StunService.Arrival {
        .init(from: from ?? client, to: server, otherPort: otherPort)
    }

    private func request(_ origin: StunRequest.Origin = .same) -> [UInt8] {
        StunRequest(transaction: transaction, origin: origin).encoded
    }

    private func hear(_ service: inout StunService, _ bytes: [UInt8], _ arrival: StunService.Arrival)
        -> StunService.Outcome
    {
        service.hear(bytes, arrival, now: start)
    }

    private func at(_ milliseconds: Int64) -> Instant { start.advanced(by: .milliseconds(milliseconds)) }

    private func reply(_ content: StunReply.Content) -> [UInt8] {
        StunReply(transaction: transaction, content: content).encoded
    }

    @Test("who asks is told where it was seen, where it asked, and where else it may ask")
    func plain() {
        var service = StunService()
        let seen = StunReply.Seen(mapped: client, origin: server, other: server.with(port: 7_842))
        #expect(
            hear(&service, request(), arrival())
                == .answer(reply(.success(seen)), fromOtherPort: false))
        let alone = StunReply.Seen(mapped: client, origin: server, other: nil)
        #expect(
            hear(&service, request(), arrival(otherPort: nil))
                == .answer(reply(.success(alone)), fromOtherPort: false))
    }

    @Test("who wants the answer from the other port gets it from there, with that port named as its origin")
    func otherPort() {
        var service = StunService()
        let other = server.with(port: 7_842)
        let seen = StunReply.Seen(mapped: client, origin: other, other: other)
        #expect(
            hear(&service, request(.otherPort), arrival())
                == .answer(reply(.success(seen)), fromOtherPort: true))
    }

    @Test("another address it has not, and another port not always: 420, and CHANGE-REQUEST is named")
    func noOther() {
        var service = StunService()
        let refusal = StunService.Outcome.refuse(reply(.failure(code: 420, unknown: [3])))
        #expect(
            hear(&service, request(.otherAddress), arrival())
                == refusal)
        #expect(
            hear(&service, request(.otherPort), arrival(otherPort: nil))
                == refusal)
    }

    @Test("half a request is answered 400; what is none, or comes from port 0, is not answered")
    func noise() {
        var service = StunService()
        var cut = request(.otherPort)
        cut[23] = 8
        #expect(
            hear(&service, cut, arrival())
                == .refuse(reply(.failure(code: 400, unknown: []))))
        #expect(
            hear(&service, [], arrival())
                == .noise)
        #expect(
            hear(&service, reply(.failure(code: 400, unknown: [])), arrival())
                == .noise)
        #expect(
            hear(&service, request(), arrival(from: client.with(port: 0)))
                == .noise)
    }

    private func isAnswered(_ service: inout StunService, from address: SocketAddress, _ now: Instant) -> Bool {
        switch service.hear(request(), arrival(from: address), now: now) {
        case .answer: true
        case .refuse, .overBudget, .noise: false
        }
    }

    private func expect(
        _ service: inout StunService, _ address: SocketAddress, _ now: Instant, _ isAllowed: Bool,
        at location: SourceLocation = #_sourceLocation
    ) {
        let isAnswered = isAnswered(&service, from: address, now)
        #expect(isAnswered == isAllowed, sourceLocation: location)
    }

    @Test("one network has a budget of its own: its burst, then its rate, whatever addresses and ports it uses")
    func perSource() {
        var limits = StunService.Limits()
        (limits.perSourceBurst, limits.perSourcePerSecond) = (3, 10)
        var service = StunService(limits)
        for index in UInt32(0)..<5 {
            let address = SocketAddress(ipv4: 0xc633_6400 + index, port: UInt16(1 + index))
            expect(&service, address, start, index < 3)
        }
        let neighbour = SocketAddress(ipv4: 0xc633_6501, port: 1)
        expect(&service, neighbour, start, true)
        expect(&service, client, at(99), false)
        expect(&service, client, at(100), true)
        let six = SocketAddress(ipv6High: 0x2001_0db8_0000_0100, low: 1, port: 1)
        for index in UInt64(0)..<4 {
            let address = SocketAddress(ipv6High: six.high + index, low: index, port: 1)
            expect(&service, address, start, index < 3)
        }
        expect(&service, SocketAddress(ipv6High: six.high + 0x100, low: 1, port: 1), start, true)
    }

    @Test("all networks together have one, which what one of them asks in excess does not touch")
    func inAll() {
        var limits = StunService.Limits()
        (limits.perSourceBurst, limits.perSourcePerSecond, limits.burst, limits.perSecond) = (2, 1, 5, 1)
        var service = StunService(limits)
        for _ in 0..<100 { _ = isAnswered(&service, from: client, start) }
        let others = (1...4).map { SocketAddress(ipv4: UInt32($0) << 8 | 0xc000_0001, port: 1) }
        var answered: [Bool] = []
        for other in others { answered.append(isAnswered(&service, from: other, start)) }
        #expect(answered == [true, true, true, false])
        expect(&service, others[0], at(1_000), true)
    }

    @Test("sources are remembered up to a bound; who would have its whole burst again is forgotten first")
    func sources() {
        var limits = StunService.Limits()
        (limits.sources, limits.perSourceBurst, limits.perSourcePerSecond) = (8, 2, 1)
        var service = StunService(limits)
        func source(_ number: UInt32) -> SocketAddress { SocketAddress(ipv4: 0x0b00_0001 + number << 8, port: 1) }
        for number in UInt32(0)..<8 { expect(&service, source(number), start, true) }
        expect(&service, source(8), at(500), false)
        #expect(service.sourceCount == 8)
        expect(&service, source(3), at(500), true)
        expect(&service, source(9), at(1_000), true)
        #expect(service.sourceCount == 2)
        for number in UInt32(100)..<10_000 { _ = isAnswered(&service, from: source(number), at(1_000)) }
        #expect(service.sourceCount == 8)
    }
}
