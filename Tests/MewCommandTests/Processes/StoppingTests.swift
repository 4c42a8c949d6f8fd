import Glibc
import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: a daemon that is ended by a signal, and a laptop that watches it. Law (DESIGN §11, planned absence): devices are
// promised a return only when somebody promised it to the daemon.

@Suite("A daemon that is told to stop", .timeLimit(.minutes(2)))
struct StoppingTests {
    private static let loss = "the connection is lost"

    /// What a watching laptop is told when the daemon gets the signal.
    private func words(_ options: [String], _ signal: Int32) async throws -> String? {
        let (daemon, laptop) = (try await RealDaemon(RealMachine(), options), RealMachine())
        try await daemon.introduce(laptop)
        let watch = try laptop.start(["watch", "desk"])
        // Nobody else holds it, and it is killed when nobody does.
        defer { watch.signal(SIGKILL) }
        try await Self.hear([watch], on: laptop)
        daemon.process.signal(signal)
        #expect(await daemon.process.exit == 0, "\(daemon.process.err.text)")
        return await watch.err.line(containing: Self.loss)
    }

    /// Until each of them shows what happens on the daemon: a connection that the daemon counts may be news to who made it.
    private static func hear(_ watches: [RealProcess], on laptop: RealMachine) async throws {
        let session = try #require(try await laptop.run("new", "desk").outLines.first)
        var number = 0
        while watches.contains(where: { $0.out.text.isEmpty }) {
            number += 1
            try #require(try await laptop.run("session", "rename", "desk", session, "title \(number)").exit == 0)
        }
    }

    @Test("SIGTERM promises nothing: who sent it does not say what comes next")
    func stops() async throws {
        #expect(try await words([], SIGTERM) == "(the connection is lost: the daemon is stopping; trying again)")
    }

    @Test("with --back-in SIGTERM promises a return; Ctrl-C and a terminal that went away still do not")
    func restarts() async throws {
        let promise = "(the connection is lost: it is restarting and expects to be back in 600 s; trying again)"
        #expect(try await words(["--back-in", "600"], SIGTERM) == promise)
        for signal in [SIGINT, SIGHUP] {
            let line = try await words(["--back-in", "600"], signal)
            #expect(line == "(the connection is lost: the daemon is stopping; trying again)")
        }
    }

    @Test("a turn that the stop interrupts is told as that, with the way to look at it")
    func interruptedTurn() async throws {
        let (daemon, laptop) = (try await RealDaemon(), RealMachine())
        try await daemon.introduce(laptop)
        let session = try #require(try await laptop.run("new", "desk").outLines.first)
        let prompt = try laptop.start(
            ["prompt", "desk", "--session", session, "--permit", "once", "echo b''egun; sleep 600"])
        #expect(await prompt.out.line(containing: "begun") != nil, "\(prompt.err.text)")
        await daemon.stop()
        #expect(await prompt.exit == ExitCode.failed.rawValue)
        #expect(
            prompt.err.lines.last
                == "mew: the turn was interrupted, and nothing of it runs again by itself. See how far it got with "
                + "'mew history desk \(session)'.")
    }

    @Test("a device is there again when the daemon keeps its promise")
    func comesBack() async throws {
        let (first, laptop) = (try await RealDaemon(RealMachine(), ["--back-in", "1"]), RealMachine())
        try await first.introduce(laptop)
        let watch = try laptop.start(["watch", "desk"])
        let program = try laptop.start(["watch", "desk", "--json"])
        try await Self.hear([watch, program], on: laptop)
        await first.stop()
        let port = try #require(first.address.split(separator: ":").last)
        let second = try await RealDaemon(first.machine, port: String(port))
        #expect(await watch.err.line(containing: "connected again") != nil)
        #expect(await program.out.line(containing: "\"back\"") != nil)
        for process in [watch, program] {
            process.signal(SIGINT)
            #expect(await process.exit == 0)
        }
        let events = program.out.lines.compactMap { try? JSON(parsing: $0) }.filter { $0["event"] != nil }
        #expect(events.map { $0["event"] } == ["lost", "back"] && events.allSatisfy { $0["daemon"] == "desk" })
        #expect(events.first?["reason"]?.asString?.contains("back in 1 s") == true)
        await second.stop()
    }

    @Test("the last line of the log says that it has stopped, at every end in order", arguments: 0..<4)
    func lastLine(round: Int) async throws {
        let daemon = try await RealDaemon(RealMachine(), ["--log-level", "info"])
        await daemon.stop()
        #expect(daemon.process.err.lines.last?.hasSuffix("daemon: the daemon has stopped") == true)
    }

    @Test("more than can be believed is refused", arguments: ["0", "601", "soon"])
    func bounds(seconds: String) async throws {
        let result = try await RealMachine().run("daemon", "--back-in", seconds)
        #expect(result.exit == ExitCode.usage.rawValue)
        #expect(result.err == "mew: --back-in must be a whole number from 1 to 600, not '\(seconds)'.\n")
    }
}
