import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: a relay and a daemon at it, real processes on loopback or on islands that reach nothing but the relay. Law: HTTP/3 carries
// the daemon's connection to the relay wherever UDP passes, WebSocket wherever it does not, and `mew status` says which.

@Suite("A relay over HTTP/3, with real processes", .timeLimit(.minutes(3)))
struct RelayHTTP3ProcessTests {
    private func transport(_ daemon: RealDaemon) async throws -> String? {
        let status = try await daemon.machine.run("status", "--json")
        let legs = status.objects.compactMap { $0["relay_legs"]?.asArray }.first
        return legs?.first?["transport"]?.asString
    }

    private func wait(for daemon: RealDaemon, toUse wanted: String) async throws {
        while try await transport(daemon) != wanted {}
    }

    @Test("with a certificate it answers at the number of its TCP port; a daemon and a device use that by themselves")
    func certified() async throws {
        let certificate = try TestCertificate(for: "127.0.0.1")
        let relay = try await RealRelay(
            RealMachine(), logLevel: "info", overUDP: true,
            ["--tls-cert", certificate.certificateFile, "--tls-key", certificate.keyFile])
        let named = ["--relay", relay.url, "--relay-trust", certificate.certificateFile]
        let daemon = try await RealDaemon(RealMachine(), named)
        try await wait(for: daemon, toUse: "http/3")
        let words = try await daemon.machine.run("status")
        #expect(words.out.contains(" over HTTP/3"), "\(words.out)")
        #expect(await relay.process.err.line(containing: "protocol=http/3") != nil, "\(relay.process.err.text)")
        let device = RealMachine()
        try await daemon.introduce(device)
        let ping = try await device.run(["ping", daemon.node, "-c", "1", "--json"] + named)
        #expect(ping.exit == 0, "\(ping.err)")
        await daemon.stop()
        await relay.stop()
    }

    @Test("a certificate that nobody vouches for is refused there as well, and the words are those of TLS")
    func untrusted() async throws {
        let certificate = try TestCertificate(for: "127.0.0.1")
        let relay = try await RealRelay(
            RealMachine(), overUDP: true,
            ["--tls-cert", certificate.certificateFile, "--tls-key", certificate.keyFile])
        let daemon = try await RealDaemon(RealMachine(), ["--relay", relay.url])
        while true {
            let status = try await daemon.machine.run("status")
            if status.out.contains("certificate") { break }
        }
        #expect(try await transport(daemon) == nil)
        await daemon.stop()
        await relay.stop()
    }

    @Test("a relay that answers nothing on UDP is used over WebSocket")
    func withoutUDP() async throws {
        let relay = try await RealRelay()
        let daemon = try await RealDaemon(RealMachine(), ["--relay", relay.url])
        try await wait(for: daemon, toUse: "websocket")
        await daemon.stop()
        await relay.stop()
    }

    @Test(
        "where UDP stops passing, WebSocket goes on, and HTTP/3 is back when it passes again",
        .enabled("network namespaces with rules for packets") { await Islands.arePermitted })
    func comesAndGoes() async throws {
        let islands = try await Islands()
        let relay = try await RealRelay(
            RealMachine().started(by: islands.middle), host: Islands.middleHost, overUDP: true)
        let daemon = try await RealDaemon(
            RealMachine().started(by: islands.one), host: "0.0.0.0", ["--relay", relay.url])
        try await wait(for: daemon, toUse: "http/3")
        try await islands.run(
            """
            nft add table inet deaf
            nft add chain inet deaf in '{ type filter hook input priority 0; }'
            nft add rule inet deaf in meta l4proto udp drop
            """, by: islands.one)
        try await wait(for: daemon, toUse: "websocket")
        try await islands.cure(islands.one)
        try await wait(for: daemon, toUse: "http/3")
        try await relay.wait(for: "http3_connections", toBe: 1)
        try await relay.wait(for: "connections", toBe: 2)
        await daemon.stop()
        await relay.stop()
    }
}
