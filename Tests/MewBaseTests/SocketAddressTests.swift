import MewBase
import Testing

@Suite("Socket addresses")
struct SocketAddressTests {
    @Test(
        "text round-trips in its canonical form",
        arguments: [
            "127.0.0.1:1", "0.0.0.0:0", "255.255.255.255:65535", "[::]:0", "[::1]:443", "[2001:db8::1]:7842",
            "[2001:db8:0:1:1:1:1:1]:1", "[fe80::1%2]:53", "[1::]:1", "[1:0:0:2::3]:9",
        ])
    func roundTrip(text: String) {
        #expect(SocketAddress(text)?.description == text)
    }

    @Test("other spellings become the canonical one")
    func canonical() {
        #expect(SocketAddress("[2001:DB8:0:0:0:0:0:1]:80")?.description == "[2001:db8::1]:80")
        #expect(SocketAddress("[::ffff:192.0.2.7]:80")?.description == "192.0.2.7:80")
        #expect(SocketAddress("[64:ff9b::192.0.2.7]:80")?.description == "[64:ff9b::c000:207]:80")
    }

    @Test(
        "near misses are refused",
        arguments: [
            "", ":", "1.2.3.4", "1.2.3:4", "1.2.3.4.5:6", "256.1.1.1:1", "01.2.3.4:5", "1.2.3.4:65536", "1.2.3.4:-1",
            "1.2.3.4:+1", "1.2.3.4: 1", " 1.2.3.4:1", "::1:80", "[::1:80", "[::1]", "[1:2:3:4:5:6:7:8:9]:1",
            "[1:2:3:4:5:6:7:8::]:1", "[1::2::3]:1", "[:::1]:1", "[12345::]:1", "[::1%eth0]:1", "[1.2.3.4::]:1",
            "[::g]:1", "[]:1", "localhost:80", "[::+1]:1",
        ])
    func refuses(text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test("an IPv4-mapped address equals the IPv4 address it stands for")
    func mapped() {
        let mapped = SocketAddress(ipv6High: 0, low: 0xffff_c000_0207, port: 9, scope: 3)
        #expect(mapped == SocketAddress(ipv4: 0xc000_0207, port: 9))
    }
}

@Suite("Instants")
struct InstantTests {
    @Test("arithmetic saturates at both ends")
    func saturation() {
        #expect(Instant.zero.advanced(by: .seconds(-1)) == .zero)
        #expect(Instant.distantFuture.advanced(by: .seconds(1)) == .distantFuture)
        #expect(Instant(nanoseconds: 5).advanced(by: .nanoseconds(-5)) == .zero)
        #expect(Instant.zero.advanced(by: .seconds(Int64.max)) > .zero)
    }

    @Test("durations have a direction")
    func direction() {
        let early = Instant(nanoseconds: 1_000)
        let late = early.advanced(by: .milliseconds(3))
        #expect(early.duration(to: late) == .milliseconds(3))
        #expect(late.duration(to: early) == .milliseconds(-3))
        #expect(early.duration(to: .distantFuture) == .nanoseconds(Int64.max))
    }
}
