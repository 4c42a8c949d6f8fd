import Glibc
import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: one state directory, several real processes that use it at once. Law (DESIGN §4, issue 2): they share the key and the
// list of daemons, each has sockets of its own, and none waits for or overwrites another.

@Suite("Several processes of one state directory", .timeLimit(.minutes(2)))
struct SeveralProcessesTests {
    /// The numbered events of a session, as `--json` printed them.
    private static func events(_ lines: [String]) -> [String] {
        lines.filter { (try? JSON(parsing: $0))?["seq"]?.asInteger != nil }
    }

    @Test("a watcher sees every event of the turn that another process prompts, in the same words")
    func watchAndPrompt() async throws {
        let (daemon, laptop) = (try await RealDaemon(), RealMachine())
        try await daemon.introduce(laptop)
        let session = try #require(try await laptop.run("new", "desk").outLines.first)
        let watch = try laptop.start(["watch", "desk", session, "--json"])
        while try await daemon.machine.run("status").out.contains("nobody is connected") {}
        let prompt = try await laptop.run(
            "prompt", "desk", "echo", "shared", "--session", session, "--permit", "once", "--json")
        #expect(prompt.exit == 0, "\(prompt.err)")
        let seen = Self.events(prompt.outLines)
        let last = try #require(seen.last)
        #expect(await watch.out.line(containing: last) != nil, "\(watch.err.text)")
        // The session's title may come after the end of the turn, when the prompting process has left.
        #expect(Self.events(watch.out.lines).filter(seen.contains) == seen)
        watch.signal(SIGINT)
        #expect(await watch.exit == 0)
        await daemon.stop()
    }

    @Test("two prompts at once into one session, and two into new ones: each runs once and gets its own end")
    func prompts() async throws {
        let (daemon, laptop) = (try await RealDaemon(), RealMachine())
        try await daemon.introduce(laptop)
        let session = try #require(try await laptop.run("new", "desk").outLines.first)
        let places = [["--session", session], ["--session", session], [], []]
        let prompts = try places.enumerated().map { number, place in
            try laptop.start(
                [
                    "prompt", "desk", "echo mark-\(number) >>\(daemon.machine.home)/marks", "--permit", "session",
                    "--json",
                ]
                    + place)
        }
        var operations: Set<String> = []
        for prompt in prompts {
            #expect(await prompt.exit == 0, "\(prompt.err.text)")
            let done = try #require(try prompt.out.lines.last.map { try JSON(parsing: $0) })
            #expect(done["outcome"] == "completed")
            if let operation = done["op_id"]?.asString { operations.insert(operation) }
        }
        #expect(operations.count == prompts.count)
        let marks = try await RealMachine.Result(of: RealProcess(["sort", daemon.machine.home + "/marks"]))
        #expect(marks.outLines == ["mark-0", "mark-1", "mark-2", "mark-3"])
        #expect(try await laptop.run("sessions", "desk", "--json").objects.count == 3)
        #expect(try await laptop.run("ops").out == "Nothing is pending.\n", "no process lost what another wrote")
        await daemon.stop()
    }

    @Test("a prompt to another machine beside the running daemon of the same directory, which serves meanwhile")
    func besideDaemon() async throws {
        let (desk, server, laptop) = (try await RealDaemon(), try await RealDaemon(), RealMachine())
        try await server.introduce(desk.machine, as: "server")
        try await desk.introduce(laptop)
        let out = try desk.machine.start(["prompt", "server", "--permit", "once", "echo from the desk"])
        let into = try laptop.start(["prompt", "desk", "--permit", "once", "echo from the laptop"])
        #expect(await out.exit == 0, "\(out.err.text)")
        #expect(await into.exit == 0, "\(into.err.text)")
        #expect(out.out.lines.contains("from the desk") && into.out.lines.contains("from the laptop"))
        #expect(try await desk.machine.run("id").outLines.first == desk.node, "one directory, one node")
        #expect(try await server.machine.run("peers", "--json").objects.first?["node_id"] == .string(desk.node))
        await desk.stop()
        await server.stop()
    }

    @Test("processes that come to a fresh directory at once make one key; of two daemons one starts")
    func firstUse() async throws {
        let machine = RealMachine()
        let processes = try (0..<6).map { _ in try machine.start(["id"]) }
        var keys: Set<String> = []
        for process in processes {
            #expect(await process.exit == 0, "\(process.err.text)")
            keys.insert(process.out.text)
        }
        #expect(keys.count == 1)
        let daemons = try (0..<2).map { _ in try machine.start(["daemon", "--bind", "127.0.0.1:0", "--json"]) }
        _ = await daemons[0].out.line(containing: "{")
        _ = await daemons[1].out.line(containing: "{")
        let refused = daemons.filter { $0.out.text.contains("directory_locked") }
        #expect(refused.count == 1)
        for process in refused { #expect(await process.exit == ExitCode.failed.rawValue) }
        for process in daemons where !process.out.text.contains("directory_locked") {
            process.signal(SIGTERM)
            #expect(await process.exit == 0)
        }
    }
}
