import MewSession
import MewWire
import Testing

@testable import mew

// Topology: a desk with the shell agent and a laptop, real processes on loopback.

@Suite("Prompts as scripts send them, with real processes", .timeLimit(.minutes(2)))
struct PromptProcessTests {
    /// A laptop whose commands read what a shell writes.
    private func fed(_ laptop: RealMachine, _ shell: String) -> RealMachine {
        laptop.started(by: ["sh", "-c", "\(shell) | \"$@\"", "sh"])
    }

    @Test("mew prompt D - takes the prompt from standard input, lines and all; what is no prompt starts no session")
    func fromInput() async throws {
        let (daemon, laptop) = (try await RealDaemon(), RealMachine())
        try await daemon.introduce(laptop)
        let turn = try await fed(laptop, "printf 'echo one\\necho two\\n'").run(
            "prompt", "desk", "-", "--permit", "once")
        #expect(turn.exit == 0, "\(turn.err)")
        #expect(turn.outLines.contains("one") && turn.outLines.contains("two"), "\(turn.out)")
        let tooMuch = "head -c \(SessionCore.maxPromptBytes + 1) /dev/zero | tr '\\0' x"
        for (shell, words, exit) in [
            ("printf '\\n'", "standard input is empty", Int32(2)), ("printf '\\377'", "UTF-8", 2),
            (tooMuch, "standard input holds more", 1),
        ] {
            let refused = try await fed(laptop, shell).run("prompt", "desk", "-")
            #expect(refused.exit == exit && refused.err.contains(words), "\(refused.err)")
            #expect(refused.errLines.count == 1)
        }
        #expect(try await laptop.run("sessions", "desk", "--json").objects.count == 1)
        await daemon.stop()
    }

    @Test("a command that fails is a completed turn: exit 0, and its own status in words and in JSON")
    func commandThatFails() async throws {
        let (daemon, laptop) = (try await RealDaemon(), RealMachine())
        try await daemon.introduce(laptop)
        let plain = try await laptop.run("prompt", "desk", "--permit", "once", "exit 3")
        #expect(plain.exit == 0 && plain.err.split(separator: "\n").count == 1, "\(plain.err)")
        #expect(plain.outLines.last == "exit status 3", "\(plain.out)")
        let json = try await laptop.run("prompt", "desk", "--permit", "once", "exit 3", "--json")
        #expect(json.exit == 0 && json.objects.last?["outcome"] == "completed", "\(json.out)")
        #expect(json.objects.contains { $0["type"] == "tool_end" && $0["success"] == false })
        let help = try await laptop.run("prompt", "--help").out.split(whereSeparator: \.isWhitespace)
        #expect(help.joined(separator: " ").contains("whatever status the command ended with"))
        await daemon.stop()
    }

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
        #expect(try await daemon.machine.run("peers", "revoke", longer).exit == 0)
        let rows = try await daemon.machine.run("peers").outLines
        #expect(rows.count == 3 && rows[1].contains(" same ") && rows[1].contains(" no "), "\(rows)")
        #expect(rows[2].contains(" \(longer) ") && rows[2].contains(" revoked just now "), "\(rows)")
        #expect(rows[2].contains(" – ") && rows[2].hasSuffix(second), "\(rows)")
        await daemon.stop()
    }
}
