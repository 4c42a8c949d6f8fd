import Glibc
import MewTestSupport
import Testing

@testable import mew

// Topology: a relay and crowds of clients on one machine, in processes of their own. Law (issue 3): clients that vanish without a
// goodbye hold one slot each until the relay knows, and nothing afterwards: no slot, no descriptor, no memory.

@Suite("A relay whose clients vanish", .timeLimit(.minutes(3)))
struct RelayChurnTests {
    private static let size = 200

    private func crowd(_ relay: RealRelay) async throws -> RealProcess {
        let crowd = try RealMachine().start(["bench", "crowd", relay.url, "--connections", "\(Self.size)", "--json"])
        try #require(await crowd.out.line(containing: "ready") != nil, "\(crowd.err.text)")
        return crowd
    }

    @Test("200 clients that are killed, several times, leave no slot, no descriptor and no memory behind")
    func killed() async throws {
        let relay = try await RealRelay()
        // What the first crowd makes the allocator keep is not what the later ones leave behind.
        var before: (descriptors: Int, memory: Int)?
        for _ in 0..<4 {
            let crowd = try await crowd(relay)
            #expect(try await relay.count("nodes") == Self.size)
            crowd.signal(SIGKILL)
            try await relay.wait(for: "nodes", toBe: 0)
            // One is the one that asks.
            try await relay.wait(for: "connections", toBe: 1)
            let now = (try await relay.descriptors(), try await relay.kibibytes("VmRSS"))
            if let before {
                #expect(abs(now.0 - before.descriptors) <= 1, "the connection that asked may be closed by now, or not")
                #expect(now.1 <= before.memory * 105 / 100, "\(before.memory) KiB before, \(now.1) KiB now")
            } else {
                before = now
            }
        }
        await relay.stop()
    }

    @Test("200 clients that freeze keep one slot each until they have answered no ping; then they have none")
    func frozen() async throws {
        let relay = try await RealRelay(logLevel: "info")
        let crowd = try await crowd(relay)
        crowd.signal(SIGSTOP)
        #expect(try await relay.count("nodes") == Self.size)
        #expect(await relay.process.err.line(containing: "it answered no ping") != nil)
        try await relay.wait(for: "nodes", toBe: 0)
        #expect(try await relay.count("clients_silent_total") == Self.size)
        crowd.signal(SIGKILL)
        crowd.signal(SIGCONT)
        try await relay.wait(for: "connections", toBe: 1)
        await relay.stop()
    }
}
