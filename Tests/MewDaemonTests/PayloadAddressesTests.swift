import MewBase
import Testing

@testable import MewDaemon

@Suite("Addresses in the payload")
struct PayloadAddressesTests {
    private static func candidate(
        _ text: String, loopback: Bool = false, bridge: Bool = false, tunnel: Bool = false
    ) -> PayloadAddresses.Candidate {
        .init(address: SocketAddress(text)!, isLoopback: loopback, isBridge: bridge, isTunnel: tunnel)
    }

    private static let machine = [
        candidate("127.0.0.1:0", loopback: true), candidate("100.64.0.9:0", tunnel: true), candidate("192.0.2.7:0"),
        candidate("172.17.0.1:0", bridge: true), candidate("[2001:db8::7]:0"), candidate("[fe80::1%2]:0"),
        candidate("[::1]:0", loopback: true),
    ]

    @Test(
        "wildcard sockets stand for the machine's addresses: real ones, then tunnels; no bridge, loopback or link-local"
    )
    func wildcards() {
        let found = PayloadAddresses.addresses(
            bound: [SocketAddress.anyIPv4.with(port: 7), SocketAddress.anyIPv6.with(port: 7)],
            candidates: Self.machine)
        #expect(found.map(\.description) == ["192.0.2.7:7", "100.64.0.9:7", "[2001:db8::7]:7"])
    }

    @Test("a machine whose only network is a bridge is reached there; one without any, on itself")
    func withoutCards() {
        func found(_ candidates: [PayloadAddresses.Candidate]) -> [String] {
            PayloadAddresses.addresses(bound: [SocketAddress.anyIPv4.with(port: 7)], candidates: candidates)
                .map(\.description)
        }
        let own = Self.candidate("127.0.0.1:0", loopback: true)
        #expect(found([own]) == ["127.0.0.1:7"])
        #expect(found([own, Self.candidate("192.0.2.7:0", bridge: true)]) == ["192.0.2.7:7"])
    }

    @Test("an address the user bound is told as it is")
    func boundAddress() {
        let bound = SocketAddress.loopback(port: 9)
        #expect(PayloadAddresses.addresses(bound: [bound], candidates: Self.machine) == [bound])
    }

    @Test("eight addresses are told, the ninth is not")
    func limit() {
        let many = (1...9).map { Self.candidate("192.0.2.\($0):0") }
        let found = PayloadAddresses.addresses(bound: [SocketAddress.anyIPv4.with(port: 7)], candidates: many)
        #expect(found.count == 8)
    }
}
