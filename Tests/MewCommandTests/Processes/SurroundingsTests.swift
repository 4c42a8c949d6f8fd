import Glibc
import MewTestSupport
import Testing

@testable import mew

// What the program does when it is started in an unfriendly place: streams that are closed or full, no home, a reader that leaves.

@Suite("Unfriendly surroundings", .timeLimit(.minutes(1)))
struct SurroundingsTests {
    /// Commands whose streams a shell has arranged first.
    private func machine(_ redirection: String) -> RealMachine {
        RealMachine().started(by: ["sh", "-c", "exec \"$@\" \(redirection)", "sh"])
    }

    @Test("a closed standard output is as good as /dev/null, and no file gets its number")
    func closedOutput() async throws {
        let machine = machine(">&-")
        let result = try await machine.run("id")
        #expect(result.exit == 0 && result.err.isEmpty && result.out.isEmpty)
        let size = try await RealMachine.Result(of: RealProcess(["stat", "-c", "%s", machine.home + "/node.key"]))
        #expect(size.out == "32\n", "what was printed went into the key file")
        #expect(try await self.machine("<&- >&- 2>&-").run("ping", "nobody").exit == ExitCode.usage.rawValue)
    }

    @Test("a standard output that takes nothing is told, with exit code 1")
    func fullOutput() async throws {
        let result = try await machine(">/dev/full").run("id")
        #expect(result.exit == ExitCode.failed.rawValue)
        #expect(
            result.err
                == "mew: could not write to standard output: no space left on device. Send it somewhere else.\n")
    }

    @Test("a standard error that is gone changes no exit code", arguments: ["2>&-", "2>/dev/full"])
    func noErrors(redirection: String) async throws {
        #expect(try await machine(redirection).run("ping", "nobody").exit == ExitCode.usage.rawValue)
        #expect(try await machine(redirection).run("id").exit == 0)
    }

    @Test("a daemon outlives the reader of its log")
    func logReaderLeaves() async throws {
        let daemon = try await RealDaemon(machine("2>/dev/full"), ["--log-level", "debug"])
        #expect(try await RealMachine(at: daemon.machine.home).run("status").exit == 0)
        await daemon.stop()
    }

    @Test("a reader that has enough ends the program silently, as SIGPIPE would")
    func readerLeaves() async throws {
        let (daemon, laptop) = (try await RealDaemon(), RealMachine())
        try await daemon.introduce(laptop)
        let shell = ["bash", "-c", "\"$@\" | head -n 1; exit ${PIPESTATUS[0]}", "bash"]
        let result = try await laptop.started(by: shell).run("ping", "desk", "-c", "100000")
        #expect(result.exit == 128 + SIGPIPE)
        #expect(result.outLines.count == 1 && result.sentences.isEmpty, "\(result.err)")
        await daemon.stop()
    }

    @Test("Ctrl-C ends a command with 130 and without a word")
    func interrupt() async throws {
        let (daemon, laptop) = (try await RealDaemon(), RealMachine())
        try await daemon.introduce(laptop)
        let ping = try laptop.start(["ping", "desk", "-c", "100000"])
        #expect(await ping.out.line(containing: "direct to") != nil)
        ping.signal(SIGINT)
        #expect(await ping.exit == 128 + SIGINT)
        #expect(ping.err.text.isEmpty)
        await daemon.stop()
    }

    @Test("without a home, and with one that cannot be written, the sentence says what to give")
    func homes() async throws {
        let cases: [([String], Int32, String)] = [
            (
                [], ExitCode.usage.rawValue,
                "mew: cannot choose a state directory, because $HOME is not set. Say where with --home DIR.\n"
            ),
            (
                ["HOME=/proc/none"], ExitCode.failed.rawValue,
                "mew: cannot write to the state directory /proc/none/.local/share/mew (making /proc/none: no such file or "
                    + "directory). Make it writable for this user, or choose another one with --home DIR.\n"
            ),
        ]
        for (environment, exit, sentence) in cases {
            let result = try await RealMachine.Result(
                of: RealProcess([RealProcess.mew, "ls"], environment: environment))
            #expect(result.exit == exit)
            #expect(result.err == sentence)
        }
    }
}
