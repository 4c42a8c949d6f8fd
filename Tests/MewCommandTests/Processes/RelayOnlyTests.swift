import Glibc
import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: a daemon and a laptop on two islands, a relay in the middle, all of them real processes. Law (DESIGN §7): the
// processes of one state directory are strangers to the relay and to each other, so none takes another's place there.

@Suite("Several processes of one state directory that have nothing but a relay", .timeLimit(.minutes(2)))
struct RelayOnlyTests {
    @Test(
        "a watcher and those who prompt beside it keep their places at the relay; it sees every event of theirs",
        arguments: ["for everybody", "for those on its list"])
    func watchAndPrompt(relayIs: String) async throws {
        let islands = try await Islands()
        let (desk, laptop) = (
            RealMachine().started(by: islands.one), RealMachine().started(by: islands.other)
        )
        var list: [String] = []
        if relayIs == "for those on its list" {
            for machine in [desk, laptop] {
                list += ["--allow", try #require(try await machine.run("id").outLines.first)]
            }
        }
        let relay = try await RealRelay(RealMachine().started(by: islands.middle), host: Islands.middleHost, list)
        let daemon = try await RealDaemon(desk, ["--relay", relay.url])
        try await daemon.introduce(laptop)
        let session = try #require(try await laptop.run("new", "desk").outLines.first)
        let watch = try laptop.start(["watch", "desk", session, "--json"])
        while try await daemon.machine.run("status").out.contains("nobody is connected") {}
        let before = try await relay.count("clients_admitted_total")
        var seen: [String] = []
        for number in 1...3 {
            let prompt = try await laptop.run(
                "prompt", "desk", "echo mark-\(number)", "--session", session, "--permit", "once", "--json")
            #expect(prompt.exit == 0, "\(prompt.err)")
            seen += prompt.outLines.filter { (try? JSON(parsing: $0))?["seq"]?.asInteger != nil }
        }
        let last = try #require(seen.last)
        #expect(await watch.out.line(containing: last) != nil, "\(watch.err.text)")
        // Whoever had been pushed out would have come again.
        #expect(try await relay.count("clients_admitted_total") == before + 3, "one more for each prompt, no more")
        #expect(try await relay.count("packets_forwarded_total") > 0)
        watch.signal(SIGINT)
        #expect(await watch.exit == 0)
        // The registry's processes have left; what is at the relay is the daemon.
        while try await relay.count("nodes") > 1 {}
        await daemon.stop()
        await relay.stop()
    }
}
