import MewBase
import MewClient
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import mew

private let session = SessionID("sess_01K4SJKHR00000000000SESS01")!  // a literal that is one
private let phone = By(
    node: SecretKey.generate(entropy: SystemEntropy()).node, name: "phone", clientKind: .mobile)

@Suite("Commands while another device is typing", .timeLimit(.minutes(1)))
struct LeaseCommandTests {
    private static let info = SessionInfo(
        sessionID: session, state: .idle, createdAt: WallTime(milliseconds: 1), firstMessage: "Fix it", agent: "shell",
        leaseHolder: phone)

    /// A daemon that knows leases and shows its session to whoever attaches, in the phone's hands.
    @Sendable
    private static func show(_ link: FakeLink) async throws -> FakeChannel {
        try await link.welcome(optional: ["lease"])
        try await link.list([info])
        let channel = try await link.channel()
        _ = try await channel.receive()
        try await channel.attach(session, epoch: Epoch(ULID(high: 1, low: 1)))
        try await channel.lease(of: session, phone)
        return channel
    }

    /// The next lease operation on control, which is done.
    @Sendable
    private static func grant(_ act: LeaseAct, _ link: FakeLink) async throws {
        let request = try await link.control.receive()
        #expect(request.message == .lease(.init(kind: .input, target: session.text, act: act)))
        try await link.control.receipt(try #require(request.operation), .done)
    }

    @Test("a prompt is refused with the name of who types and the way out: exit 6", arguments: [true, false])
    func refused(isJSON: Bool) async throws {
        let stage = CommandStage()
        try await stage.add()
        let words = ["prompt", "desk", "hi", "--session", "1"] + (isJSON ? ["--json"] : [])
        let result = try await stage.run(words) { link in
            let channel = try await Self.show(link)
            let prompt = try await channel.receive()
            try await channel.receipt(
                try #require(prompt.operation), .refused, code: .leaseHeld, message: "phone is typing")
            _ = await link.link.closed()
        }
        #expect(result.exit == .refused)
        #expect(
            result.err.lines.last
                == "mew: could not run the prompt: phone is typing. Wait until they stop, or take over with 'mew prompt "
                + "--take-over'.")
        if isJSON { #expect(result.objects.last?["error"]?["code"] == "lease_held") }
    }

    @Test("--take-over takes the lease before the prompt is sent, says from whom, and gives it back at the end")
    func takeOver() async throws {
        let stage = CommandStage()
        try await stage.add()
        let result = try await stage.run("prompt", "desk", "hi", "--session", "1", "--take-over") { link in
            let channel = try await Self.show(link)
            try await Self.grant(.takeOver, link)
            let prompt = try await channel.receive()
            #expect(prompt.message == .prompt(ClientMessage.Prompt(text: "hi")))
            try await channel.receipt(try #require(prompt.operation), .done, result: .completed)
            try await Self.grant(.release, link)
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        #expect(result.err.lines.contains("(took over from phone)"), "\(result.err.text)")
    }

    @Test("another device that takes over meanwhile keeps what it took, and its name is told")
    func takenOver() async throws {
        let stage = CommandStage()
        try await stage.add()
        let result = try await stage.run("prompt", "desk", "hi", "--session", "1", "--take-over") { link in
            let channel = try await Self.show(link)
            try await Self.grant(.takeOver, link)
            let prompt = try await channel.receive()
            try await channel.lease(of: session, By(node: link.link.peer, name: "laptop", clientKind: .cli))
            try await channel.lease(of: session, phone)
            try await channel.receipt(try #require(prompt.operation), .done, result: .completed)
            let release = try await link.control.receive()
            try await link.control.receipt(
                try #require(release.operation), .refused, code: .leaseHeld, message: "phone is typing")
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        #expect(result.err.lines.contains("(phone took over; prompts of others are refused)"), "\(result.err.text)")
        #expect(!result.err.text.contains("30 s"), "\(result.err.text)")
    }

    @Test("a daemon that knows no leases is told of: nothing is sent")
    func noLeases() async throws {
        let stage = CommandStage()
        try await stage.add()
        let result = try await stage.run("prompt", "desk", "hi", "--session", "1", "--take-over") { link in
            try await link.welcome()
            try await link.list([Self.info])
            let channel = try await link.channel()
            _ = try await channel.receive()
            try await channel.attach(session, epoch: Epoch(ULID(high: 1, low: 1)))
            _ = await link.link.closed()
        }
        #expect(result.exit == .failed)
        #expect(result.err.text.contains("does not know who is typing"), "\(result.err.text)")
    }

    @Test("sessions names who types, in words and as a field")
    func sessions() async throws {
        let stage = CommandStage()
        try await stage.add()
        for isJSON in [true, false] {
            let result = try await stage.run(["sessions", "desk"] + (isJSON ? ["--json"] : [])) { link in
                try await link.welcome(optional: ["lease"])
                try await link.list([Self.info])
                _ = await link.link.closed()
            }
            if isJSON {
                #expect(result.objects.first?["lease_holder"] == "phone")
            } else {
                #expect(result.out.lines.last == "phone is typing in 1; prompts of others are refused there.")
            }
        }
    }

    @Test(
        "sessions names what runs unasked and how to end it, in words and as a field; set takes it back",
        arguments: [true, false])
    func allowedTools(isJSON: Bool) async throws {
        let stage = CommandStage()
        try await stage.add()
        var info = Self.info
        (info.leaseHolder, info.allowedTools) = (nil, ["bash"])
        let (flags, listed) = (isJSON ? ["--json"] : [], info)
        let result = try await stage.run(["sessions", "desk"] + flags) { link in
            try await link.welcome()
            try await link.list([listed])
            _ = await link.link.closed()
        }
        if isJSON {
            #expect(result.objects.first?["allowed_tools"] == ["bash"])
        } else {
            #expect(result.out.lines.last == "bash: runs unasked in 1; 'mew set desk 1 --forget-allowed' ends that.")
        }
        let set = try await stage.run(["set", "desk", "1", "--forget-allowed"] + flags) { link in
            try await link.welcome()
            try await link.list([listed])
            let channel = try await link.channel()
            _ = try await channel.receive()
            try await channel.attach(session, epoch: Epoch(ULID(high: 1, low: 1)))
            let request = try await channel.receive()
            #expect(request.message == .forgetAllowedTools)
            try await channel.receipt(try #require(request.operation), .done)
            _ = await link.link.closed()
        }
        #expect(set.exit == .ok, "\(set.err.text)")
        if isJSON {
            #expect(set.objects.first?["forgot_allowed"] == true)
        } else {
            #expect(set.out.lines.last?.hasPrefix("Every tool asks again in ") == true)
        }
    }

    @Test("watch says who types and when it ends, in words and as an event", arguments: [true, false])
    func watch(isJSON: Bool) async throws {
        let stage = CommandStage()
        try await stage.add()
        let words = ["watch", "desk", "1"] + (isJSON ? ["--json"] : [])
        let result = try await stage.run(
            words,
            daemonAndPerson: { link, seat in
                let channel = try await Self.show(link)
                try await channel.lease(of: session, phone)
                try await channel.lease(of: session, nil)
                // What a closing finds unread may be lost.
                _ = await seat.out.line(containing: isJSON ? "\"holder\":null" : "nobody is typing")
                await link.link.close(code: .revoked, reason: "over")
            })
        #expect(result.exit == .unauthorized)
        if isJSON {
            let told = result.objects.filter { $0["type"] == "lease_state" }
            #expect(told.map { $0["holder"]?["name"]?.asString } == ["phone", "phone", nil])
            #expect(told.allSatisfy { $0["session_id"] == .string(session.text) })
        } else {
            let told = result.out.lines.filter { $0.contains("typing") }
            #expect(
                told == [
                    "(phone is typing; prompts of others are refused)", "(nobody is typing any more; everybody may)",
                ])
        }
    }

    @Test("who types is told once, and again when it is another one")
    func words() {
        let laptop = By(node: SecretKey.generate(entropy: SystemEntropy()).node, name: "laptop", clientKind: .cli)
        var (words, names) = (LeaseWords(device: laptop.node), DistinctNames([(laptop.node, "phone")]))
        #expect(words.news(nil, &names) == nil)
        let other = "phone-\(phone.node.z32.suffix(4))"
        #expect(words.news(phone, &names) == "\(other) is typing; prompts of others are refused")
        #expect(words.news(phone, &names) == nil, "after a loss nothing is told twice")
        #expect(words.news(laptop, &names) == "this device is typing; prompts of others are refused")
        #expect(words.news(nil, &names) == "nobody is typing any more; everybody may")
    }
}
