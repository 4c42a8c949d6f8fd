import Glibc
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
        try await refusals(daemon, laptop)
        #expect(try await laptop.run("sessions", "desk", "--json").objects.count == 1)
        await daemon.stop()
    }

    /// The rows of the page of errors that begin with "a prompt".
    private func refusals(_ daemon: RealDaemon, _ laptop: RealMachine) async throws {
        let play = ErrorPlay(ErrorTable.prompts)
        try await play.expect("a prompt of blanks", laptop, "prompt", "desk", " ")
        let tooMuch = "head -c \(SessionCore.maxPromptBytes + 1) /dev/zero | tr '\\0' x"
        for (name, shell) in [
            ("a prompt from standard input, which is empty", "printf '\\n'"),
            ("a prompt from standard input, which is no text", "printf '\\377'"),
            ("a prompt from standard input, which is too long", tooMuch),
        ] {
            try await play.expect(name, fed(laptop, shell), "prompt", "desk", "-")
        }
        let unreadable = laptop.started(by: ["sh", "-c", "\"$@\" < /", "sh"])
        try await play.expect("a prompt from standard input, which cannot be read", unreadable, "prompt", "desk", "-")
        try await whileAnotherTypes(play, daemon, laptop)
        play.end()
    }

    /// The phone takes the session over for a prompt, which the laptop can take over in turn, and which goes on.
    private func whileAnotherTypes(_ play: ErrorPlay, _ daemon: RealDaemon, _ laptop: RealMachine) async throws {
        let phone = RealMachine()
        try await daemon.introduce(phone)
        let typing = try phone.start([
            "prompt", "desk", "sleep 600", "--session", "1", "--permit", "once", "--take-over", "--json",
        ])
        #expect(await typing.out.line(containing: "\"tool_start\"") != nil, "\(typing.err.text)")
        try await play.expect(
            "a prompt while another device is typing in the session", laptop, "prompt", "desk", "hi", "--session", "1")
        let listed = try await laptop.run("sessions", "desk", "--json")
        #expect(listed.objects.first?["lease_holder"]?.asString?.isEmpty == false, "\(listed.out)")
        let taken = try laptop.start(["prompt", "desk", "true", "--session", "1", "--take-over", "--json"])
        #expect(await taken.out.line(containing: "\"user_message\"") != nil, "\(taken.err.text)")
        #expect(await typing.err.line(containing: "took over") != nil, "\(typing.err.text)")
        #expect(try await laptop.run("cancel", "desk", "1").exit == 0)
        #expect(await typing.exit == 6)
        taken.signal(SIGTERM)
        #expect(await taken.exit == 0)
        let free = try await laptop.run("sessions", "desk", "--json")
        #expect(free.objects.first?["lease_holder"] == .null, "\(free.out)")
    }

    @Test("a command that fails is a completed turn: exit 0, and its own status in words and in JSON")
    func commandThatFails() async throws {
        let (daemon, laptop) = (try await RealDaemon(), RealMachine())
        try await daemon.introduce(laptop)
        let plain = try await laptop.run("prompt", "desk", "--permit", "once", "exit 3")
        #expect(plain.exit == 0 && plain.sentences.count == 1, "\(plain.err)")
        #expect(plain.outLines.last == "exit status 3", "\(plain.out)")
        let json = try await laptop.run("prompt", "desk", "--permit", "once", "exit 3", "--json")
        #expect(json.exit == 0 && json.objects.last?["outcome"] == "completed", "\(json.out)")
        #expect(json.objects.contains { $0["type"] == "tool_end" && $0["success"] == false })
        let help = try await laptop.run("prompt", "--help").out.split(whereSeparator: \.isWhitespace)
        #expect(help.joined(separator: " ").contains("whatever status the command ended with"))
        await daemon.stop()
    }
}
