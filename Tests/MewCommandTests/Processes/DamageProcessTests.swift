import Glibc
import MewWire
import Testing

@testable import mew

// Topology: a desk whose database is damaged between two starts, and a laptop that knew a session there. Law (issue 4): what
// was lost is said to whoever starts the daemon, asks it, or comes back to it.

@Suite("A database that is damaged, with real processes", .timeLimit(.minutes(2)))
struct DamageProcessTests {
    private static let loss =
        "nothing of the damaged database could be read: all its sessions are lost, and every device has to be paired again "
        + "with 'mew pair'; the damaged file is now "

    @Test("a total loss is told by the daemon's start and by mew status, until a start after a clean end")
    func totalLoss() async throws {
        let (first, laptop) = (try await RealDaemon(), RealMachine())
        try await first.introduce(laptop)
        let session = try #require(try await laptop.run("new", "desk").outLines.first)
        await first.stop()
        let machine = first.machine
        try machine.write([UInt8](repeating: 0xa5, count: 65_536), to: "sessions.db")
        let aside = machine.home + "/sessions.db.damaged-1"

        let second = try await RealDaemon(machine, port: String(try #require(first.address.split(separator: ":").last)))
        #expect(second.process.err.lines.contains("Warning: " + Self.loss + aside + "."), "\(second.process.err.text)")
        #expect(access(aside, F_OK) == 0)
        #expect(try await machine.run("status").outLines.contains(Self.loss + aside))
        let repair = try await machine.run("status", "--json").objects.first?["repairs"]?.asArray?.first
        #expect(repair?["old_file"] == .string(aside) && repair?["total_loss"] == true, "\(String(describing: repair))")
        // Whoever comes back hears that it is not known, then that the session is not.
        #expect(try await laptop.run("history", "desk", session).exit == ExitCode.unauthorized.rawValue)
        try await second.introduce(laptop)
        let history = try await laptop.run("history", "desk", session)
        #expect(history.exit == ExitCode.usage.rawValue)
        #expect(history.err == "mew: desk has no session '\(session)'. See 'mew sessions desk'.\n")
        second.process.signal(SIGKILL)
        _ = await second.process.exit

        let third = try machine.start(["daemon", "--bind", "127.0.0.1:0", "--json"])
        let line = await third.out.line(containing: "\"ready\"")
        let ready = try JSON(parsing: try #require(line, "\(third.err.text)"))
        #expect(ready["repairs"]?.asArray?.count == 1, "an end that was not in order ends no warning")
        #expect(ready["warnings"]?.asArray?.compactMap(\.asString) == [Self.loss + aside + "."])
        third.signal(SIGTERM)
        #expect(await third.exit == 0)
        let last = try await RealDaemon(machine)
        #expect(!last.process.err.text.contains("damaged"))
        await last.stop()
    }
}
