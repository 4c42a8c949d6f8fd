import MewBase
import MewPath
import Testing

@testable import MewQUIC

@Suite("What a connection keeps for its path messages")
struct ConnectionTalkTests {
    private static func talk() -> ConnectionTalk {
        ConnectionTalk(PathKeys(secret: [UInt8](repeating: 1, count: PathKeys.exportedBytes), isDialler: true))
    }

    private static func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: 1_000_000_000).advanced(by: .milliseconds(milliseconds))
    }

    private static func call(_ port: UInt16) -> Call {
        Call(candidates: [SocketAddress(ipv4: 0xc000_0201, port: port)], relays: [])
    }

    private static func address(_ number: UInt16) -> Outlet {
        Outlet(route: .direct(SocketAddress(ipv4: 0xc000_0202, port: number)))
    }

    private static func relay(_ number: UInt32) -> Outlet {
        Outlet(route: .carried(CarrierID(number: number), peer: 1))
    }

    @Test("the same call is a copy for 200 ms, and news after that")
    func copies() {
        var talk = Self.talk()
        let calls: [(UInt16, Int64)] = [(1, 0), (1, 199), (1, 200), (2, 210), (1, 220)]
        let verdicts = calls.map { (port, time) in
            talk.passesOn(Self.call(port), now: Self.at(time))
        }
        #expect(verdicts == [true, false, true, true, true])
    }

    @Test("eight calls are taken at once, and four a second after that")
    func tooMany() {
        var talk = Self.talk()
        var taken: [Int] = []
        for second in 0..<4 {
            taken.append(
                (0..<100).filter { number in
                    talk.passesOn(Self.call(UInt16(number + 1)), now: Self.at(Int64(second) * 1_000 + Int64(number)))
                }.count)
        }
        #expect(taken == [8, 4, 4, 4])
    }

    @Test("eight ways are kept, the last ones, and relays before addresses")
    func ways() {
        var talk = Self.talk()
        talk.noteWay(Self.relay(1))
        for number in UInt16(1)...9 { talk.noteWay(Self.address(number)) }
        #expect(talk.ways.count == 8)
        #expect(talk.ways.contains(Self.relay(1)))
        #expect(!talk.ways.contains(Self.address(2)))
        #expect(talk.ways.first == Self.address(9))
        talk.noteWay(Self.address(3))
        #expect(talk.ways.count == 8)
        #expect(talk.ways.first == Self.address(3))
        for number in UInt32(2)...9 { talk.noteWay(Self.relay(number)) }
        #expect(talk.ways == (2...9).reversed().map { Self.relay($0) })
    }
}

@Suite("Where a node is")
struct PresenceTests {
    @Test(
        "an address is there with any port and scope; without a list, all are; without an address, nothing is missing")
    func has() {
        let linkLocal = SocketAddress(ipv6High: 0xfe80_0000_0000_0000, low: 1, port: 0, scope: 2)
        let presence = Presence(machine: [SocketAddress(ipv4: 0xc000_0201, port: 0), linkLocal])
        #expect(presence.has(SocketAddress(ipv4: 0xc000_0201, port: 443)))
        #expect(!presence.has(SocketAddress(ipv4: 0xc000_0202, port: 443)))
        #expect(presence.has(SocketAddress(ipv6High: 0xfe80_0000_0000_0000, low: 1, port: 7)))
        #expect(presence.has(nil))
        #expect(Presence().has(SocketAddress(ipv4: 1, port: 1)))
    }
}
