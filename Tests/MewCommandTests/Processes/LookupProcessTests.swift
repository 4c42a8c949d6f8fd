import Glibc
import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: two relays, a daemon at both of them, and a device, each a real process on loopback. Law (issue 3): a node that
// knows only the daemon's node ID and the relays reaches it, also after one of the relays has died.

@Suite("Daemons are found by their node ID, with real processes", .timeLimit(.minutes(2)))
struct LookupProcessTests {
    private struct RelayProcess {
        let process: RealProcess
        let url: String

        init() async throws {
            process = try RealMachine().start(["relay", "--http", "127.0.0.1:0", "--no-udp", "--log-level", "error"])
            let line = await process.out.line(containing: "mew-relay:")
            url = String(try #require(line, "\(process.err.text)").dropFirst(10))
        }
    }

    /// A machine with the device's key and nothing else.
    private static func blank(like device: RealMachine) throws -> RealMachine {
        let blank = RealMachine()
        try copy("node.key", from: device, to: blank)
        return blank
    }

    private static func copy(_ name: String, from: RealMachine, to: RealMachine) throws {
        let file = open("\(from.home)/\(name)", O_RDONLY)
        try #require(file >= 0)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = read(file, &bytes, bytes.count)
        try to.write(Array(bytes.prefix(max(0, count))), to: name)
    }

    @Test("the node ID and a relay are enough; and the other relay when the first one is killed")
    func nodeIDAlone() async throws {
        let (one, two) = (try await RelayProcess(), try await RelayProcess())
        let daemon = try await RealDaemon(RealMachine(), ["--relay", one.url, "--relay", two.url])
        let laptop = RealMachine()
        try await daemon.introduce(laptop)
        let stranger = try Self.blank(like: laptop)
        let relays = ["--relay", one.url, "--relay", two.url]
        let first = try await stranger.run(["ping", daemon.node, "-c", "1", "--json"] + relays)
        #expect(first.exit == 0, "\(first.err)")
        // It knew nothing but the relays; on one machine the link may be direct by the time of the first ping.
        #expect(["relay", "direct"].contains(first.objects.first?["path"]))

        let home = try #require(
            try await daemon.machine.run("status", "--json").objects.first?["relays"]?.asArray?.first?.asString)
        (home == one.url ? one : two).process.signal(SIGKILL)
        let second = try await stranger.run(["prompt", daemon.node, "echo found", "--permit", "once"] + relays)
        #expect(second.exit == 0, "\(second.err)")
        #expect(second.out.contains("found"))

        // The same from config.json, and with nothing at all.
        let urls = [one.url, two.url].map { "\"\($0)\"" }.joined(separator: ",")
        try stranger.write(Array("{\"relays\":[\(urls)]}".utf8), to: "config.json")
        let third = try await stranger.run("ping", daemon.node, "-c", "1")
        #expect(third.exit == 0, "\(third.err)")
        let fourth = try await Self.blank(like: laptop).run("ping", daemon.node, "-c", "1")
        #expect(fourth.exit == 2)
        #expect(fourth.err.contains("no daemon with the node ID"))

        // The other relay is home within seconds.
        while try await !daemon.machine.run("status").out.contains("home, connected for") {}
        await daemon.stop()
    }

    @Test("a device learns the daemon's relay from the daemon, and uses it when the address is gone")
    func learnsRelay() async throws {
        let relay = try await RelayProcess()
        let daemon = try await RealDaemon(RealMachine(), ["--relay", relay.url])
        let laptop = RealMachine()
        try await daemon.introduce(laptop)
        #expect(try await laptop.run("ping", "desk", "-c", "1").exit == 0)
        await daemon.stop()
        // On another port, which the device cannot know.
        let again = try await RealDaemon(daemon.machine, ["--relay", relay.url])
        #expect(again.node == daemon.node)
        // Found by the relay alone; by the first reply the connection may have moved to the address that was told over it.
        let ping = try await laptop.run("ping", "desk", "-c", "1", "--json")
        #expect(ping.exit == 0 && ping.objects.first?["path"] != nil, "\(ping.out)\(ping.err)")
        await again.stop()
    }

    @Test(
        "a configuration that means nothing is refused by the name of what is wrong",
        arguments: [
            ("{", "it is no JSON"), ("[]", "no JSON object"), ("{\"relays\":1}", "\"relays\" is no list"),
            ("{\"relays\":[\"x\"]}", "\"relays\" holds 'x'"), ("{\"relay_token\":7}", "\"relay_token\" is no text"),
            ("{\"relay_trust\":\"missing.pem\"}", "missing.pem"),
        ])
    func badConfiguration(_ text: String, _ reason: String) async throws {
        let machine = RealMachine()
        try machine.write(Array(text.utf8), to: "config.json")
        for command in [["ls"], ["daemon", "--bind", "127.0.0.1:0"]] {
            let result = try await machine.run(command)
            #expect(result.exit == 2, "\(command): \(result.out)")
            #expect(result.err.contains("config.json") || result.err.contains(reason), "\(result.err)")
            #expect(result.err.contains(reason), "\(result.err)")
        }
    }
}
