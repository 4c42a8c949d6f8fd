import MewBase
import MewLoop
import MewTestSupport
import Testing

@testable import MewAgent

/// One command at a time, in real processes.
@Suite("A command of the shell agent", .timeLimit(.minutes(1)))
struct ShellRunTests {
    private let commands = CommandBench()

    @Test("output and errors come together, in order, and the exit status at the end")
    func output() async throws {
        let end = try await commands.run("echo one; echo two >&2; echo three; exit 3")
        #expect(end == ShellEnd(exit: .status(3), output: "one\ntwo\nthree\n", ended: [], escaped: []))
    }

    @Test("the command runs in its directory, reads nothing, and leads a session without a terminal")
    func surroundings() async throws {
        commands.scratch.directory("here")
        let end = try await commands.run("pwd; cat; tty; ps -o pid=,sid=,pgid= $$ | tr -s ' '", in: "here")
        let lines = end.output.split(separator: "\n").map { $0.trimmingPrefix(" ") }
        #expect(lines[0] == commands.scratch("here"))
        #expect(lines[1] == "not a tty")
        #expect(Set(lines[2].split(separator: " ")).count == 1, "\(lines[2])")
    }

    @Test("no descriptor of ours reaches the command")
    func descriptors() async throws {
        let end = try await commands.run("ls /proc/$$/fd; true")
        #expect(Set(end.output.split(separator: "\n")).isSubset(of: ["0", "1", "2", "255"]), "255 is bash's own")
    }

    @Test("a command that waits for its children does not wait for ours")
    func waits() async throws {
        let end = try await commands.run("sleep 0 & wait; echo $(ps -o pid= --ppid $$ | wc -l)")
        #expect(end.output == "1\n", "only the subshell that counts")
    }

    @Test("death by a signal is told as that")
    func signal() async throws {
        #expect(try await commands.run("kill -KILL $$").exit == .signal(9))
    }

    @Test("a missing directory or shell is an error of the start")
    func cannotStart() async {
        await #expect(throws: SystemError.self) { try await commands.run("true", in: "gone") }
    }

    @Test("nothing runs before the gate is opened, and a gate that is given up runs nothing")
    func gate() async throws {
        let run = commands.newRun()
        let process = try await commands.start(run, "echo ran > ran")
        #expect(process.exists)
        await run.terminate()
        #expect(await run.next() == .ended(ShellEnd(exit: .status(125), output: "", ended: [], escaped: [])))
        #expect(!process.exists)
        #expect(try await commands.run("cat ran").exit == .status(1))
    }

    @Test("a shell that dies at its gate ends the run, however late the gate is opened or given up")
    func diesAtGate() async throws {
        for isReleased in [true, false] {
            let run = commands.newRun(Patience(grace: .seconds(1_000)))
            let process = try await commands.start(run, "echo ran > ran")
            ProcessSession(leader: process).signal(9)
            if isReleased {
                #expect(await commands.end(of: run).exit == .signal(9))
                await run.release()
                #expect(await run.phase == .over)
            } else {
                while process.exists { await Task.yield() }
                await run.terminate()
                #expect(await commands.end(of: run).exit == .signal(9))
            }
            #expect(!commands.exists("ran"))
        }
    }

    @Test("when we die, the gate's pipe ends, and the command dies with all its group")
    func ourDeath() async throws {
        let output = try Pipe()
        var gate: Pipe? = try Pipe()
        let program = Shell.installed().program(
            for: try ShellCommand(prompt: "trap '' TERM; sleep 1000 & echo up; sleep 1000"),
            directory: commands.scratch.path, environment: commands.environment)
        let child = try ChildProcess(program, input: gate?.reader, output: output.writer)
        gate?.writer.write(Shell.opening)
        #expect(output.reader.read(maxBytes: 100) == .bytes(Array("up\n".utf8)))
        let session = ProcessSession(leader: child.identity)
        #expect(session.members().count >= 3, "the shell, a sleep and the watcher")
        gate = nil  // what the kernel does when we are killed
        #expect(waitForExit(of: child) == .signal(9))
        #expect(session.kill().isEmpty)
    }

    @Test("termination ends everything the command started, whatever groups it made")
    func terminate() async throws {
        let run = commands.newRun()
        let process = try await commands.start(run, "set -m; sleep 1000 & sleep 1000 & set +m; echo up; sleep 1000")
        await run.release()
        #expect(await commands.text(of: run) == "up\n")
        await run.terminate()
        let end = await commands.end(of: run)
        #expect(end.exit == .signal(15))
        #expect(ProcessSession(leader: process).members().compactMap(Shell.commandLine(of:)) == [])
    }

    @Test("who ignores SIGTERM is killed after the grace")
    func stubborn() async throws {
        let run = commands.newRun(Patience(grace: .milliseconds(50)))
        let process = try await commands.start(run, "trap '' TERM; sleep 1000 & echo up; while :; do sleep 1000; done")
        await run.release()
        #expect(await commands.text(of: run) == "up\n")
        await run.terminate()
        #expect(await commands.end(of: run).exit == .signal(9))
        #expect(ProcessSession(leader: process).members().compactMap(Shell.commandLine(of:)) == [])
    }

    @Test("a background process that holds the output is waited for, then ended and named")
    func holdsOutput() async throws {
        let end = try await commands.run("sleep 1000 & echo done", Patience(linger: .milliseconds(50)))
        #expect(end.exit == .status(0) && end.output == "done\n" && end.ended.count == 1 && end.escaped == [])
    }

    @Test("a background process that ends in time is heard to its end")
    func lateOutput() async throws {
        let end = try await commands.run("mkfifo go; (read -r x < go; echo late) & echo early; (echo > go) &")
        #expect(end == ShellEnd(exit: .status(0), output: "early\nlate\n", ended: [], escaped: []))
    }

    @Test("a background process that has let go of the output is ended at once and named")
    func quietLeftover() async throws {
        let end = try await commands.run("sleep 1000 >/dev/null 2>&1 & echo done")
        #expect(end.exit == .status(0) && end.output == "done\n" && end.ended.count == 1 && end.escaped == [])
    }

    @Test("a process that left the session lives on and is named")
    func escape() async throws {
        let end = try await commands.run(
            "setsid sh -c 'echo $$ > pid; exec sleep 1000' >/dev/null 2>&1 & until [ -s pid ]; do :; done; cat pid")
        let number = try #require(Int32(end.output.dropLast()))
        #expect(end.ended == [] && end.escaped.count == 1)
        let escaped = try #require(ProcessIdentity(now: number))
        #expect(ProcessSession(leader: escaped).kill() == [])
    }

    @Test("a watcher that is slow to notice the end is no process of the command")
    func slowWatcher() async throws {
        let run = commands.newRun()
        // The command runs in bash, which leaves the watcher as the only `sh` of the session.
        let process = try await commands.start(
            run, "kill -STOP $(ps -s $$ -o pid=,comm= | awk '$2 == \"sh\" && $1 != '$$' { print $1 }') && echo stopped")
        await run.release()
        let end = await commands.end(of: run)
        #expect(end == ShellEnd(exit: .status(0), output: "stopped\n", ended: [], escaped: []))
        #expect(ProcessSession(leader: process).members().count == 1)
        #expect(ProcessSession(leader: process).kill() == [])
    }

    @Test("a flood of more than is told live is still read to its end, and only its end is kept")
    func longFlood() async throws {
        let run = commands.newRun()
        _ = try await commands.start(run, "head -c 4000000 /dev/zero | tr '\\0' x; echo; echo the end")
        await run.release()
        var told = ""
        var end: ShellEnd?
        while end == nil {
            switch await run.next() {
            case .output(let actions): for case .progress(let text) in actions { told += text }
            case .ended(let ended): end = ended
            }
        }
        #expect(told.hasSuffix(OutputPacer.quietNote))
        #expect(end?.output.hasSuffix("x\nthe end\n") == true)
    }

    @Test("a flood is read no faster than it is told, and nothing of it is buffered")
    func flood() async throws {
        let run = commands.newRun()
        let process = try await commands.start(run, "yes")
        await run.release()
        let start = commands.loop.now
        var told = 0
        for _ in 0..<10 {
            guard case .output(let actions) = await run.next() else { break }
            for case .progress(let text) in actions { told += text.utf8.count }
            let batches = Int(start.duration(to: commands.loop.now) / OutputPacer.gather)
            #expect(told <= (batches + 1) * OutputPacer.batchBytes)
            // What was told, the batch that is open now, and what the pipe holds; `yes` writes 8 to 64 KiB at a time.
            #expect(try bytesWritten(by: process) <= told + 2 * OutputPacer.batchBytes + (64 << 10))
        }
        #expect(told >= 9 * OutputPacer.batchBytes, "after the first batch each is full")
        await run.terminate()
        let end = await commands.end(of: run)
        #expect(end.exit == .signal(15))
        #expect(end.output.utf8.count < KeptOutput.headBytes + KeptOutput.tailBytes + 64)
    }

    @Test("a character that the command writes in two pieces arrives whole")
    func splitCharacter() async throws {
        let end = try await commands.run("printf '\\342\\202'; printf '\\254'; printf '\\377\\0'")
        #expect(end.output == "€\u{fffd}␀")
    }
}
