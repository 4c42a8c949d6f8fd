import MewBase
import MewLoop
import Testing

@testable import MewMapping

@Suite("Which routers are of this network")
struct LocalNetworksTests {
    private static let networks = LocalNetworks([
        .of("192.0.2.7", 24), .of("10.1.0.2", 30), .of("127.0.0.1", 8, isLoopback: true),
        .of("203.0.113.1", 24, isUp: false),
        .of("198.51.100.1", 0),
    ])

    @Test(
        "a device is asked where it stands in a network of this machine, by its address",
        arguments: [
            ("http://192.0.2.1:5000/root.xml", "192.0.2.7"), ("http://192.0.2.255/", "192.0.2.7"),
            ("http://10.1.0.1", "10.1.0.2"),
        ])
    func local(url: String, own: String) {
        #expect(Self.networks.own(towards: url) == own)
    }

    @Test(
        "and nowhere else",
        arguments: [
            "http://192.0.3.1:5000/", "http://10.1.0.4/", "http://127.0.0.1:80/", "http://203.0.113.9/",
            "http://198.51.100.9/",
            "https://192.0.2.1/", "http://router/", "http://192.0.2.1.example/", "http://user@192.0.2.1/",
            "http://[::1]/", "http://",
            "", "file:///etc/passwd", "http://192.0.2.1:99999/",
            "http://192.0.2.1/" + String(repeating: "a", count: 1024),
        ])
    func elsewhere(url: String) {
        #expect(!Self.networks.hold(url))
    }
}

@Suite("What is made of two answers")
struct BetterAnswerTests {
    private static let good = Result<Mapping, MappingFailure>.success(
        Mapping(.upnp, external: .loopback(port: 1), lifetime: .zero, router: .gateway))

    @Test("a mapping counts most, then what says more than that nobody answered")
    func better() {
        let (none, no) = (Routers.Answer.failure(.noRouter), Routers.Answer.failure(.refused(.upnp, "no")))
        #expect(NetworkRouters.better(none, Self.good) == Self.good)
        #expect(NetworkRouters.better(Self.good, no) == Self.good)
        #expect(NetworkRouters.better(none, no) == no)
        #expect(NetworkRouters.better(no, none) == no)
    }
}

extension InterfaceAddress {
    fileprivate static func of(
        _ address: String, _ prefixLength: Int, isUp: Bool = true, isLoopback: Bool = false
    ) -> InterfaceAddress {
        // A literal that is one.
        let own = SocketAddress(address + ":0")!
        return InterfaceAddress("eth0", own, prefixLength: prefixLength, isUp: isUp, isLoopback: isLoopback)
    }
}
