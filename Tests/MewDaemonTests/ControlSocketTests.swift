import MewBase
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

@Suite("Control socket", .timeLimit(.minutes(1)))
struct ControlSocketTests {
    /// A command's end of the socket.
    private struct Command {
        let socket: StreamSocket

        func send(_ request: ControlRequest) async throws {
            try await socket.write(request.json.utf8 + [10])
        }

        func reply() async throws -> ControlReply? {
            guard let line = try await socket.readLine(maxBytes: ControlRequest.maxLineBytes) else { return nil }
            return try ControlReply(JSON(parsing: line))
        }

        func ask(_ request: ControlRequest) async throws -> ControlReply? {
            try await send(request)
            return try await reply()
        }
    }

    private func with(
        devices: [Device] = [], _ body: (DaemonBench, () async throws -> Command) async throws -> Void
    ) async throws {
        let scratch = ScratchDirectory()
        try await DaemonBench.with(devices: devices) { bench in
            let loop = try #require(bench.loop as? EventLoop)
            let listener = try UnixListener(at: scratch("control.sock"), on: loop)
            let server = ControlServer(
                bench.daemon, listener: listener, status: { await bench.daemon.status(addresses: ["a"], relays: []) },
                net: { ControlNet(nil, mapping: nil) },
                place: { .init(addresses: ["192.0.2.1:9"], relays: []) }, shutDown: {})
            let running = bench.loop.spawn { await server.run() }
            try await body(bench) {
                Command(socket: try StreamSocket.connect(to: scratch("control.sock"), on: loop))
            }
            await listener.close()
            await running.value
        }
    }

    private static func pair(_ token: PairingToken) -> ControlRequest {
        .pair(.init(scope: .control, codeDigest: token.digest, expected: nil, canConfirm: true, seconds: 120))
    }

    @Test("pairing through the socket: the window, a knock, the answer, the new device")
    func pairing() async throws {
        try await with { bench, connect in
            let command = try await connect()
            let token = PairingToken(entropy: SystemEntropy())
            guard case .window(let window)? = try await command.ask(Self.pair(token)) else { return fail("no window") }
            #expect(window.node == DaemonBench.node && window.addresses == ["192.0.2.1:9"])
            let laptop = try await bench.connect(Pairing.laptop)
            try await laptop.hello()
            guard case .event(.knock(let knock, Pairing.laptop, _, _))? = try await command.reply() else {
                return fail("no knock")
            }
            try await command.send(.confirm(knock))
            guard case .event(.paired(Pairing.laptop, _, _, _))? = try await command.reply() else {
                return fail("not paired")
            }
            guard case .pairPending? = try await laptop.message(), case .remoteReady? = try await laptop.message()
            else { return fail("not let in") }
        }
    }

    @Test("when the command is gone its window is closed, and another one can be opened")
    func screenGone() async throws {
        try await with { bench, connect in
            let first = try await connect()
            _ = try await first.ask(Self.pair(PairingToken(entropy: SystemEntropy())))
            let laptop = try await bench.connect(Pairing.laptop)
            try await laptop.hello()
            _ = try await first.reply()
            let second = try await connect()
            guard case .refused(let error)? = try await second.ask(Self.pair(PairingToken(entropy: SystemEntropy())))
            else { return fail("two windows") }
            #expect(error.code == "busy")
            await first.socket.close()
            #expect(
                await laptop.link.closed()
                    == .peer(.pairingRefused, reason: PairingWindow.Refusal.windowClosed.sentence))
            let third = try await connect()
            guard case .window? = try await third.ask(Self.pair(PairingToken(entropy: SystemEntropy()))) else {
                return fail("the window is stuck")
            }
        }
    }

    @Test("peers are listed, renamed, rescoped and revoked; unknown ones refused by code")
    func peers() async throws {
        try await with(devices: [DaemonBench.device(Pairing.phone)]) { _, connect in
            let command = try await connect()
            #expect(try await command.ask(.rename(Pairing.phone, to: " tablet\u{1B} ")) == .done)
            #expect(try await command.ask(.setScope(Pairing.phone, .observe)) == .done)
            guard case .peers(let peers)? = try await command.ask(.peers) else { return fail("no list") }
            #expect(peers.map(\.name) == ["tablet\u{FFFD}"] && peers.map(\.scope) == [.observe])
            #expect(try await command.ask(.revoke(Pairing.phone)) == .revoked(connections: 0))
            guard case .refused(let error)? = try await command.ask(.revoke(Pairing.stranger)) else {
                return fail("revoked a stranger")
            }
            #expect(error.code == "unknown_daemon")
        }
    }

    @Test("status names each link")
    func status() async throws {
        try await with(devices: [DaemonBench.device(Pairing.phone)]) { bench, connect in
            let phone = try await bench.connect(Pairing.phone, .stock)
            try await phone.hello()
            _ = try await phone.message()
            guard case .status(let status)? = try await connect().ask(.status) else { return fail("no status") }
            #expect(status.links.map(\.applicationProtocol) == ["mew/wire/0"])
            #expect(status.pairedDevices == 1 && status.isSaving && status.windowSecondsLeft == nil)
        }
    }

    @Test("nonsense on the socket is refused and the next line is heard")
    func nonsense() async throws {
        try await with { _, connect in
            let command = try await connect()
            for text in ["{", "[]", "{\"mew_control\":9}", "{\"mew_control\":1,\"do\":\"dance\"}", ""] {
                try await command.socket.write(Array(text.utf8) + [10])
                guard case .refused? = try await command.reply() else { return fail("accepted: \(text)") }
            }
            #expect(try await command.ask(.peers) == .peers([]))
        }
    }

    @Test("64 commands are served at once, the 65th is refused and not left waiting")
    func manyCommands() async throws {
        try await with { _, connect in
            var commands: [Command] = []
            for _ in 0..<64 {
                let command = try await connect()
                #expect(try await command.ask(.peers) == .peers([]))
                commands.append(command)
            }
            guard case .refused(let error)? = try await connect().reply() else { return fail("the 65th was served") }
            #expect(error.code == "busy")
            for command in commands { await command.socket.close() }
        }
    }
}
