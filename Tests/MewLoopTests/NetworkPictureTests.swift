import MewBase
import Testing

@testable import MewLoop

@Suite("What counts as a change of the network")
struct NetworkPictureTests {
    private static let home = SocketAddress(ipv4: 0xc000_0205, port: 0)
    private static let cable = InterfaceAddress("eth0", home)

    /// fe80::n on the interface with that number.
    private static func linkLocal(_ number: UInt32) -> SocketAddress {
        SocketAddress(ipv6High: 0xfe80_0000_0000_0000, low: UInt64(number), port: 0, scope: number)
    }

    private static func picture(_ more: InterfaceAddress..., outward: [SocketAddress] = [home]) -> NetworkPicture {
        NetworkPicture(of: [cable] + more, outward: outward)
    }

    @Test("a container that starts or stops is none: its bridge, the ends of its cable")
    func containers() {
        let before = Self.picture(
            InterfaceAddress("docker0", SocketAddress(ipv4: 0xac11_0001, port: 0), isUp: false, isBridge: true))
        let running = Self.picture(
            InterfaceAddress("docker0", SocketAddress(ipv4: 0xac11_0001, port: 0), isBridge: true),
            InterfaceAddress("docker0", Self.linkLocal(3), isBridge: true), InterfaceAddress("veth1", Self.linkLocal(4))
        )
        #expect(running.isLike(before) && before.isLike(running))
        #expect(running.addresses.count == 4, "they are addresses of this machine all the same")
    }

    @Test("an address more or less is one, and so is another way out")
    func changes() {
        let before = Self.picture()
        let other = SocketAddress(ipv4: 0xcb00_7109, port: 0)
        #expect(!Self.picture(InterfaceAddress("wlan0", other)).isLike(before))
        #expect(Self.picture(InterfaceAddress("wlan0", other, isUp: false)).isLike(before))
        #expect(!Self.picture(InterfaceAddress("wg0", other, isPointToPoint: true)).isLike(before))
        #expect(!Self.picture(outward: [other]).isLike(before))
        #expect(!Self.picture(outward: []).isLike(before))
        #expect(!NetworkPicture(of: [], outward: [Self.home]).isLike(before))
    }
}
