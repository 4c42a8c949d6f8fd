import MewBase
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import mew

/// Commands of one state directory, with a daemon played by the test in the same process.
final class CommandStage: Sendable {
    let network = LoopbackNetwork()
    let daemon: LoopbackEndpoint
    let home = ScratchDirectory()
    private let protocols: [ApplicationProtocol]
    private let terminal: Terminal
    private let dialer: (@Sendable (DialerOptions) -> any Dialer)?

    /// - Parameters:
    ///   - terminal: what the three standard streams are; nothing of the kind, unless a test says so.
    ///   - dialer: in place of one that reaches `daemon`.
    init(
        protocols: [ApplicationProtocol] = [.native, .stock],
        terminal: Terminal = Terminal(canAsk: false, isScreen: false, columns: 80, rows: 24),
        dialer: (@Sendable (DialerOptions) -> any Dialer)? = nil
    ) {
        self.dialer = dialer
        self.protocols = protocols
        self.terminal = terminal
        daemon = network.endpoint(SecretKey.generate(entropy: SystemEntropy()).node, protocols: protocols)
        daemon.listen()
    }

    struct Result {
        let exit: ExitCode
        let out: LineCollector
        let err: LineCollector

        /// The lines of standard output as objects.
        var objects: [JSON] { out.lines.compactMap { try? JSON(parsing: $0) } }
    }

    /// Where one command runs: what it prints, and the keyboard on which somebody may press Ctrl-C.
    struct Seat: Sendable {
        let out = LineCollector()
        let err = LineCollector()
        fileprivate let runtime: Runtime

        func signal(_ signal: Signal) {
            if !runtime.signals.isHeard { Issue.record("\(signal) came too early or too late: \(err.text)") }
            runtime.signals.arrived(signal)
        }
    }

    private func seat() async throws -> Seat {
        let (network, dialer) = (network, dialer)
        return Seat(
            runtime: try await Runtime(loop: try EventLoop(name: "mew"), signals: nil) { options, _ in
                dialer?(options) ?? network.endpoint(options.key.node)
            })
    }

    /// Runs one command line to its end.
    func run(_ words: String...) async throws -> Result { try await run(words) }

    func run(_ words: [String]) async throws -> Result { try await run(words, at: try await seat()) }

    private func run(_ words: [String], at seat: Seat) async throws -> Result {
        let (out, err, runtime) = (seat.out, seat.err, seat.runtime)
        var program = CommandLineProgram(
            commands: CommandList.all, environment: ["MEW_HOME": home.path], directory: "/", runtime: runtime)
        program.standard = out
        program.errors = err
        program.terminal = terminal
        let ready = program
        let exit = await withTaskExecutorPreference(runtime.loop) { await ready.run(words) }
        // Who waits for a line of it waits no longer.
        out.end()
        err.end()
        await runtime.end()
        runtime.loop.stop()
        runtime.files.stop()
        return Result(exit: exit, out: out, err: err)
    }

    /// Runs a command while the test plays the daemon for it.
    func run(
        _ words: String..., daemon play: @escaping @Sendable (FakeLink) async throws -> Void
    ) async throws -> Result {
        try await run(words, daemon: play)
    }

    func run(
        _ words: [String], daemon play: @escaping @Sendable (FakeLink) async throws -> Void
    ) async throws -> Result {
        try await run(words) { link, _ in try await play(link) }
    }

    /// The test plays the person before the command, too.
    func run(
        _ words: [String], daemonAndPerson play: @escaping @Sendable (FakeLink, Seat) async throws -> Void
    ) async throws -> Result {
        let seat = try await seat()
        async let played: Void = play(try await FakeLink.accept(on: daemon), seat)
        let result = try await run(words, at: seat)
        // A command that never dialled must not leave its daemon waiting.
        daemon.stopListening()
        defer { daemon.listen() }
        do {
            try await played
        } catch {
            Issue.record("the daemon's part failed: \(error); the command said: \(result.err.text)")
        }
        return result
    }

    /// Pairs, as every test but those of `add` begins.
    func add(name: String = "desk") async throws {
        let payload = PairingPayload(
            node: daemon.node, name: name, token: PairingToken(entropy: SystemEntropy()), relays: [],
            addresses: [.loopback(port: 1)])
        let result = try await run("add", payload.text) { link in
            try await link.welcome()
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
    }
}

extension FakeLink {
    /// Answers `list_sessions`.
    func list(_ sessions: [SessionInfo]) async throws {
        let request = try await control.receive()
        guard case .listSessions = request.message else { throw FakeDaemonError("no list_sessions") }
        try await control.send(.sessionList(DaemonMessage.SessionList(sessions: sessions)), ref: request.ref)
    }
}
