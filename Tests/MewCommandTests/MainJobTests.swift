import MewBase
import MewClient
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import mew

/// A daemon and a device on one machine, each with its own state directory, joined by loopback QUIC. Every step is a command.
private struct Pair: Sendable {
    let desk = Machine()
    let laptop = Machine()
    let daemon: Machine.Running

    init() async throws {
        daemon = try await desk.start(["daemon", "--bind", "127.0.0.1:0", "--agent", "shell", "--log-level", "warning"])
        guard await daemon.out.line(containing: "mew-node-id:") != nil else {
            throw FakeDaemonError("the daemon did not start: \(daemon.err.text)")
        }
    }

    /// Runs `body`, then ends the daemon with SIGTERM; it must drain and exit 0.
    static func run(_ body: (Pair) async throws -> Void) async throws {
        let pair = try await Pair()
        do {
            try await body(pair)
        } catch {
            Issue.record("\(error)")
        }
        pair.daemon.signal(.terminate)
        #expect(await pair.daemon.exit == .ok)
    }

    /// `mew pair` there, `mew add` here.
    func introduce(offers: [ApplicationProtocol] = ApplicationProtocol.allCases) async throws {
        let window = try await desk.start(["pair", "--json", "--timeout", "60"])
        let line = try #require(await window.out.line(containing: "\"window\""), "\(window.err.text)")
        let payload = try #require(try JSON(parsing: line)["payload"]?.asString)
        let added = try await laptop.run("add", payload, "--name", "desk", "--json", offers: offers)
        #expect(added.exit == .ok, "\(added.err.text)")
        #expect(await window.exit == .ok)
        #expect(window.out.text.contains("\"paired\""))
    }
}

@Suite("The main job, command by command", .timeLimit(.minutes(2)))
struct MainJobTests {
    @Test("pair, prompt with a permission, history after a reconnect", arguments: ApplicationProtocol.allCases)
    func mainJob(applicationProtocol: ApplicationProtocol) async throws {
        let offers = [applicationProtocol]
        try await Pair.run { pair in
            try await pair.introduce(offers: offers)
            let turn = try await pair.laptop.run(
                "prompt", "desk", "echo one; echo two", "--permit", "once", "--json", offers: offers)
            #expect(turn.exit == .ok, "\(turn.err.text)")
            let types = turn.objects.compactMap { $0["type"]?.asString }
            for type in ["user_message", "permission_request", "request_resolved", "tool_end"] {
                #expect(types.contains(type), "\(type) in \(types)")
            }
            #expect(turn.objects.last?["outcome"] == "completed")
            if applicationProtocol == .native {
                let numbers = turn.objects.compactMap { $0["seq"]?.asInteger }
                #expect(numbers == Array(1...Int64(numbers.count)), "no holes")
            }
            let history = try await pair.laptop.run("history", "desk", "1", offers: offers)
            #expect(history.exit == .ok, "\(history.err.text)")
            for words in ["» echo one; echo two", "$ echo one; echo two", "one\ntwo", "exit status 0"] {
                #expect(history.out.text.contains(words), "\(words) in \(history.out.text)")
            }
            let sessions = try await pair.laptop.run("sessions", "desk", "--json", offers: offers)
            #expect(sessions.objects.first?["title"] == "echo one; echo two")
        }
    }

    @Test("a denied command is not run")
    func denied() async throws {
        try await Pair.run { pair in
            try await pair.introduce()
            let mark = pair.desk.home("mark")
            let turn = try await pair.laptop.run("prompt", "desk", "touch \(mark)", "--permit", "deny", "--json")
            #expect(turn.exit == .ok)
            #expect(turn.objects.contains { $0["decision"] == "deny" })
            let check = try await pair.laptop.run(
                "prompt", "desk", "test -e \(mark)", "--permit", "once", "--json")
            #expect(check.objects.contains { $0["success"] == false }, "the file was not made")
        }
    }

    @Test("three processes of one directory: one prompts, one watches, one answers")
    func severalProcesses() async throws {
        try await Pair.run { pair in
            try await pair.introduce()
            let made = try await pair.laptop.run("new", "desk", "--json")
            let id = try #require(made.objects.first?["session_id"]?.asString)
            let watch = try await pair.laptop.start(["watch", "desk", id, "--json"])
            let prompt = try await pair.laptop.start(["prompt", "desk", "echo shared", "--session", id, "--json"])
            let call = try #require(await prompt.err.line(containing: "mew answer"), "\(prompt.err.text)")
            let words = call.split(separator: " ").map(String.init)
            let handle = try #require(words.firstIndex(of: "answer").map { words[$0 + 2] })
            let answer = try await pair.laptop.run("answer", "desk", handle, "once", "--json")
            #expect(answer.exit == .ok, "\(answer.err.text)")
            #expect(answer.objects.first?["outcome"] == "settled")
            #expect(await prompt.exit == .ok, "\(prompt.err.text)")
            #expect(await watch.out.line(containing: "\"tool_end\"") != nil)
            watch.signal(.interrupt)
            #expect(await watch.exit == .ok)
            let late = try await pair.laptop.run("answer", "desk", handle, "deny", "--json")
            #expect(late.exit == .refused)
            #expect(late.objects.first?["outcome"] == "too_late" && late.objects.first?["how"] == "answered")
            #expect(late.objects.first?["decision"] == "allow_once")
            #expect(late.objects.first?["by"]?["node_id"]?.asString != nil)
            #expect(late.err.text.contains("too late: answered by"), "\(late.err.text)")
        }
    }

    @Test("two Ctrl-C cancel the turn; one detaches and leaves it running")
    func interrupts() async throws {
        try await Pair.run { pair in
            try await pair.introduce()
            let cancelled = try await pair.laptop.start(
                ["prompt", "desk", "sleep 600", "--permit", "once", "--json"])
            _ = await cancelled.out.line(containing: "request_resolved")
            cancelled.signal(.interrupt)
            _ = await cancelled.err.line(containing: "cancel: mew cancel desk sess_")
            cancelled.signal(.interrupt)
            #expect(await cancelled.exit == .refused)
            #expect(cancelled.out.lines.last?.contains("\"cancelled\"") == true)

            let detached = try await pair.laptop.start(["prompt", "desk", "sleep 600", "--permit", "once", "--json"])
            _ = await detached.out.line(containing: "request_resolved")
            detached.signal(.terminate)
            #expect(await detached.exit == .ok)
            let running = try await pair.laptop.run("sessions", "desk", "--json")
            #expect(running.objects.first?["state"] == "running")
            let cancel = try await pair.laptop.run("cancel", "desk", "1")
            #expect(cancel.exit == .ok, "\(cancel.err.text)")
            // The command is told to end; that takes it a moment.
            while try await pair.laptop.run("sessions", "desk", "--json").objects.first?["state"] == "running" {
                try Task.checkCancellation()
            }
            #expect(try await pair.laptop.run("cancel", "desk", "1").exit == .refused)
        }
    }

    @Test("a revoked device is told so, live and later, and can be paired again")
    func revoked() async throws {
        try await Pair.run { pair in
            try await pair.introduce()
            let watch = try await pair.laptop.start(["watch", "desk", "--json"])
            while try await pair.desk.run("peers", "--json").objects.first?["connected"] != true {
                try Task.checkCancellation()
            }
            let revoked = try await pair.desk.run("peers", "revoke", "1", "--json")
            #expect(revoked.objects.first?["connections_closed"] == 1)
            #expect(await watch.exit == .unauthorized)
            #expect(watch.out.lines.last?.contains("\"revoked\"") == true)
            let later = try await pair.laptop.run("sessions", "desk", "--json")
            #expect(later.exit == .unauthorized)
            #expect(later.objects.last?["error"]?["code"] == "revoked")
            #expect(try await pair.laptop.run("ls", "--json").objects.first?["state"] == "revoked")
            try await pair.introduce()
            #expect(try await pair.laptop.run("sessions", "desk").exit == .ok)
        }
    }

    @Test("each mistake has its code: no window, another node, no such session, directory, agent")
    func mistakes() async throws {
        try await Pair.run { pair in
            let status = try await pair.desk.run("status", "--json")
            let address = try #require(status.objects.first?["addrs"]?.asArray?.first?.asString)
            let node = try #require(status.objects.first?["node_id"]?.asString)
            let other = SecretKey.generate(entropy: SystemEntropy()).node.z32
            let cases: [([String], String, ExitCode)] = [
                (["add", node, "--addr", address], "window_closed", .timedOut),
                (["add", other, "--addr", address], "wrong_node", .unreachable),
                (["add", other], "unreachable", .unreachable),
            ]
            for (words, code, exit) in cases { try await expect(words, on: pair.laptop, code, exit) }
            try await pair.introduce()
            let paired: [([String], String, ExitCode)] = [
                (["new", "desk", "--cwd", pair.desk.home.path + "/gone"], "bad_cwd", .usage),
                (["new", "desk", "--agent", "nobody"], "bad_input", .usage),
                (["history", "desk", "zzzz"], "unknown_session", .usage),
                (["answer", "desk", "AAAA-000000", "once"], "unknown_request", .refused),
            ]
            for (words, code, exit) in paired { try await expect(words, on: pair.laptop, code, exit) }
        }
    }

    private func expect(_ words: [String], on machine: Machine, _ code: String, _ exit: ExitCode) async throws {
        let running = try await machine.start(words + ["--json"])
        #expect(await running.exit == exit, "\(words): \(running.err.text)")
        let last = running.out.lines.last.flatMap { try? JSON(parsing: $0) }
        #expect(last?["error"]?["code"] == .string(code), "\(words): \(running.out.text)")
        #expect(running.err.sentences.count == 1, "one sentence: \(running.err.text)")
    }

    @Test("a second daemon of one directory, and one whose port is taken, do not start")
    func starts() async throws {
        try await Pair.run { pair in
            try await expect(["daemon"], on: pair.desk, "directory_locked", .failed)
            let status = try await pair.desk.run("status", "--json")
            let address = try #require(status.objects.first?["addrs"]?.asArray?.first?.asString)
            try await expect(["daemon", "--bind", address], on: Machine(), "port_taken", .failed)
        }
    }

    @Test("mew pair without a daemon starts one, and serves on until a signal")
    func standAlone() async throws {
        let (desk, laptop) = (Machine(), Machine())
        let pair = try await desk.start(["pair", "--json", "--timeout", "60"])
        let line = try #require(await pair.out.line(containing: "\"window\""), "\(pair.err.text)")
        let payload = try #require(try JSON(parsing: line)["payload"]?.asString)
        let added = try await laptop.run("add", payload, "--name", "desk")
        #expect(added.exit == .ok, "\(added.err.text)")
        #expect(await pair.err.line(containing: "Serving on") != nil)
        #expect(pair.err.text.contains("No daemon was running here"), "\(pair.err.text)")
        #expect(try await laptop.run("sessions", "desk").exit == .ok)
        pair.signal(.interrupt)
        #expect(await pair.exit == .ok)
    }

    @Test("a window that nobody used ends with 3")
    func expired() async throws {
        try await Pair.run { pair in
            let result = try await pair.desk.run("pair", "--json", "--timeout", "1")
            #expect(result.exit == .timedOut)
            #expect(result.objects.contains { $0["event"] == "expired" })
            #expect(result.objects.last?["error"]?["code"] == "timed_out")
        }
    }

    @Test("peers: renamed, given another scope, and the scope is obeyed")
    func scopes() async throws {
        try await Pair.run { pair in
            try await pair.introduce()
            #expect(try await pair.desk.run("peers", "rename", "1", "phone").exit == .ok)
            #expect(try await pair.desk.run("peers", "scope", "phone", "observe").exit == .ok)
            let row = try #require(try await pair.desk.run("peers", "--json").objects.first)
            #expect(row["name"] == "phone" && row["scope"] == "observe" && row["revoked_at_ms"] == .null)
            try await expect(["new", "desk"], on: pair.laptop, "scope", .unauthorized)
        }
    }
}
