import MewWire
import Testing

@testable import mew

// Topology: a desk with two devices, real processes on loopback.

@Suite("The devices of a daemon, with real processes", .timeLimit(.minutes(2)))
struct PeersProcessTests {
    @Test("a revoked device is neither connected nor not, and two of one name are told apart")
    func peers() async throws {
        let (daemon, laptop, phone) = (try await RealDaemon(), RealMachine(), RealMachine())
        try await daemon.introduce(laptop)
        try await daemon.introduce(phone)
        try await daemon.machine.run("peers", "rename", "1", "same")
        try await daemon.machine.run("peers", "rename", "2", "same")
        let second = try #require(
            try await daemon.machine.run("peers", "--json").objects.last?["node_id"]?.asString)
        let longer = "same-\(second.suffix(4))"
        let revoked = try await daemon.machine.run("peers", "revoke", longer)
        #expect(revoked.exit == 0 && revoked.outLines.last?.hasPrefix("Revoked \(longer).") == true, "\(revoked.out)")
        let rows = try await daemon.machine.run("peers").outLines
        #expect(rows.count == 3 && rows[1].contains(" same ") && rows[1].contains(" no "), "\(rows)")
        #expect(rows[2].contains(" \(longer) ") && rows[2].contains(" revoked just now "), "\(rows)")
        #expect(rows[2].contains(" – ") && rows[2].hasSuffix(second), "\(rows)")
        await daemon.stop()
    }
}
