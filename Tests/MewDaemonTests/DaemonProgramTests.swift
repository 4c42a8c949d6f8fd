import Glibc
import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewSession
import MewStore
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// Whole daemons on loopback sockets: the state directory, the store, QUIC, sessions and the shell agent together.
@Suite("A whole daemon", .timeLimit(.minutes(2)))
struct DaemonProgramTests {
    private let scratch = ScratchDirectory()

    private func configuration(bind: [SocketAddress] = [.loopback(port: 0)]) -> DaemonConfiguration {
        DaemonConfiguration(
            directory: scratch("state"), bind: bind, name: "desk", version: "0.2.0", userHome: scratch.path,
            environment: ["PATH=/usr/bin:/bin"])
    }

    /// Runs a daemon for the length of `body`.
    private func withDaemon<Result: Sendable>(
        _ configuration: DaemonConfiguration? = nil, _ body: (DaemonProgram) async throws -> Result
    ) async throws -> Result {
        let loops = try DaemonProgram.Loops()
        defer { loops.stop() }
        let program = try await DaemonProgram.start(
            configuration ?? self.configuration(), on: loops, diagnostics: NoDiagnostics())
        let running = loops.network.spawn { await program.run() }
        do {
            let result = try await body(program)
            program.stop()
            await running.value
            return result
        } catch {
            program.stop()
            await running.value
            throw error
        }
    }

    /// A node that dials the daemon.
    private func withDialler<Result: Sendable>(
        _ secret: SecretKey, _ body: (Node) async throws -> Result
    ) async throws -> Result {
        let loop = try EventLoop(name: "dialler")
        defer { loop.stop() }
        let node = try await Node.start(
            .init(secret: secret, addresses: [.loopback(port: 0)], accepts: []), network: KernelNetwork(),
            loop: loop, entropy: SystemEntropy())
        do {
            let result = try await body(node)
            await node.stop()
            return result
        } catch {
            await node.stop()
            throw error
        }
    }

    private func dial(_ node: Node, _ program: DaemonProgram) async throws -> TestPeer {
        let target = DialTarget(node: program.readiness.node, addresses: program.readiness.addresses)
        return TestPeer(link: try await node.dial(target))
    }

    private func pair(_ node: Node, _ program: DaemonProgram) async throws {
        let token = PairingToken(entropy: SystemEntropy())
        let window = try await program.daemon.openWindow(
            .init(scope: .control, codeDigest: token.digest, expected: nil, canConfirm: false, seconds: 60))
        let control = try await dial(node, program).open()
        try await control.hello(token: token.revealed)
        guard case .remoteReady? = try await control.message() else { return fail("not paired") }
        await program.daemon.closeWindow(window.number)
        await control.link.close(code: .done, reason: "")
    }

    private func operation(_ number: UInt64) -> OperationID { OperationID(ULID(high: 1, low: number)) }

    @Test("a directory has one daemon; after it stopped the next one has the same node ID")
    func oneDaemon() async throws {
        let first = try await withDaemon { program in
            let loops = try DaemonProgram.Loops()
            defer { loops.stop() }
            await #expect {
                _ = try await DaemonProgram.start(configuration(), on: loops, diagnostics: NoDiagnostics())
            } throws: { ($0 as? StartFailure)?.code == .directoryLocked }
            return program.readiness.node
        }
        #expect(try await withDaemon { $0.readiness.node } == first)
    }

    @Test("when it has ended its directory is free, whoever still holds the program")
    func directoryIsFree() async throws {
        let first = try await withDaemon { $0 }
        let port = try await withDaemon { $0.readiness.addresses.first?.port }
        withExtendedLifetime(first) { #expect(port != nil) }
    }

    @Test("without --bind the port of the first start is kept; when it is taken another one is, with a warning")
    func keptPort() async throws {
        let first = try await withDaemon(configuration(bind: [])) { $0.readiness.addresses.map(\.port) }
        #expect(Set(first).count == 1)
        let port = try #require(first.first)
        #expect(try await withDaemon(configuration(bind: [])) { $0.readiness.addresses.map(\.port) } == first)
        let thief = try await withDialler(SecretKey.generate(entropy: SystemEntropy())) { _ in
            try await withSocket(port) {
                try await withDaemon(configuration(bind: [])) {
                    ($0.readiness.addresses.map(\.port), $0.readiness.warnings)
                }
            }
        }
        #expect(thief.0.first != port)
        #expect(thief.1.first?.contains("UDP port \(port) is taken") == true)
    }

    @Test("what a damaged database lost is told at the start and by the status, until a start after a clean end")
    func losses() async throws {
        let id = SessionID(ULID(high: 1, low: 1))
        try await withDamagedDatabase(of: id)
        let first = try await withDaemon { program in
            (program.readiness.damage, try await Self.status(in: scratch("state")).damage)
        }
        #expect(first.0 == first.1)
        #expect(first.1.losses.map(\.session) == [id.text] && first.1.losses.map(\.events) == [5])
        let aside = scratch("state/" + StateDirectory.Name.database) + ".damaged-1"
        #expect(
            first.1.repairs == [
                ControlRepair(setAside: aside, isTotalLoss: false, knowsSessions: true, knowsDevices: true)
            ])
        let second = try await withDaemon { program in
            (program.readiness.damage, try await Self.status(in: scratch("state")).damage)
        }
        #expect(second.0 == StoreDamage() && second.1 == StoreDamage())
    }

    /// A state directory with a session of five events, in whose database the definition of the events is damaged.
    private func withDamagedDatabase(of id: SessionID) async throws {
        scratch.directory("state")
        let path = scratch("state/" + StateDirectory.Name.database)
        let loop = try BlockingLoop(name: "prepare")
        defer { loop.stop() }
        let store = try await SQLiteStore.open(path: path, on: loop)
        let events = (1...5).map { EventRow(sequence: SequenceNumber($0), body: [1]) }
        try await store.commit(
            [.putSession(SessionRow(id: id, body: [1], isBusy: false))] + events.map { .appendEvent(id, $0) })
        try await store.commit([.putSession(SessionRow(id: id, body: [2], isBusy: false))])
        await store.close()
        let file = open(path, O_RDWR)
        defer { close(file) }
        var page = [UInt8](repeating: 0, count: 65_536)
        try #require(pread(file, &page, page.count, 0) == page.count)
        let definition = Array("CREATE TABLE events".utf8)
        let position = try #require(page.indices.first { page[$0...].starts(with: definition) })
        try #require(pwrite(file, [0xff], 1, position + 1) == 1)
    }

    private static func status(in directory: String) async throws -> ControlStatus {
        let loop = try EventLoop(name: "ask")
        defer { loop.stop() }
        let control = try StreamSocket.connect(
            to: directory + "/" + StateDirectory.Name.controlSocket, on: loop)
        try await control.write(ControlRequest.status.json.utf8 + [10])
        let line = try #require(try await control.readLine(maxBytes: ControlRequest.maxLineBytes))
        await control.close()
        guard case .status(let status)? = try ControlReply(JSON(parsing: line)) else { throw ChannelError.finished }
        return status
    }

    @Test("a relay that cannot be reached is told as such, with the reason and what to do, when the daemon is ready")
    func deadRelay() async throws {
        // A port whose listener is gone again.
        let loop = try EventLoop(name: "gone")
        let port = try await loop.spawn {
            Result {
                let listener = try TCPListener(binding: .loopback(port: 0), on: loop) { _ in }
                defer { listener.close() }
                return listener.localAddress.port
            }
        }.value.get()
        loop.stop()
        var configuration = configuration()
        configuration.relays = [try RelayURL("http://127.0.0.1:\(port)/")]
        let relays = try await withDaemon(configuration) { $0.readiness.relays }
        #expect(relays.map(\.url) == configuration.relays && relays.map(\.isConnected) == [false])
        #expect(relays.first?.problem?.contains("refused") == true)
        #expect(relays.first?.advice?.contains("check that the relay runs") == true)
    }

    @Test("a port that the user named and somebody has is an error, not another port")
    func takenPort() async throws {
        let loop = try EventLoop(name: "thief")
        defer { loop.stop() }
        let thief = try await Node.start(
            .init(secret: SecretKey.generate(entropy: SystemEntropy()), addresses: [.loopback(port: 0)]),
            network: KernelNetwork(), loop: loop, entropy: SystemEntropy())
        await #expect {
            try await withDaemon(configuration(bind: thief.addresses)) { _ in }
        } throws: { ($0 as? StartFailure)?.code == .portTaken }
        await thief.stop()
    }

    /// Holds the port on all addresses while `body` runs.
    private func withSocket<Result: Sendable>(
        _ port: UInt16, _ body: () async throws -> Result
    ) async throws -> Result {
        let loop = try EventLoop(name: "thief")
        defer { loop.stop() }
        let thief = try await Node.start(
            .init(
                secret: SecretKey.generate(entropy: SystemEntropy()),
                addresses: [.anyIPv6.with(port: port), .anyIPv4.with(port: port)]), network: KernelNetwork(),
            loop: loop, entropy: SystemEntropy())
        do {
            let result = try await body()
            await thief.stop()
            return result
        } catch {
            await thief.stop()
            throw error
        }
    }

    @Test("the main job: pair, make a session, prompt, permit, hear the output; after a restart everything is there")
    func mainJob() async throws {
        let secret = SecretKey.generate(entropy: SystemEntropy())
        let session = try await withDialler(secret) { node in
            try await withDaemon { program in
                try await pair(node, program)
                let peer = try await dial(node, program)
                let control = try await peer.open()
                try await control.enter()
                let session = try await runPrompt(in: peer)
                // A control channel that is dropped ends the connection.
                try await control.send(.ping)
                return session
            }
        }
        try await withDialler(secret) { node in
            try await withDaemon { program in
                let peer = try await dial(node, program)
                let control = try await peer.open()
                try await control.enter()
                try await control.send(.listSessions)
                // Where the daemon can be reached may be told before that.
                let told = try await collect(control) { if case .sessionList = $0 { true } else { false } }
                guard case .sessionList(let list)? = told.last else { return fail("no list") }
                #expect(list.sessions.map(\.sessionID) == [session])
                let channel = try await peer.open()
                try await channel.send(.attachSession(.init(sessionID: session, clientKind: .cli)))
                let seen = try await collect(channel) { if case .caughtUp = $0 { true } else { false } }
                #expect(seen.contains { "\($0)".contains("mew-was-here") })
            }
        }
    }

    private func runPrompt(in peer: TestPeer) async throws -> SessionID {
        let channel = try await peer.open()
        try await channel.send(.newSession(.init(clientKind: .cli)), operation: operation(1))
        let opening = try await collect(channel) { if case .sessionReady = $0 { true } else { false } }
        guard case .sessionReady(let ready)? = opening.last else { throw ChannelError.finished }
        try await channel.send(.prompt(.init(text: "printf 'mew-was-%s' here")), operation: operation(2))
        let asked = try await collect(channel) { if case .request = $0 { true } else { false } }
        guard case .request(let request)? = asked.last, let shown = request.shown else { throw ChannelError.finished }
        let answer = Answer(
            requestID: request.id, content: .permission(.allowOnce),
            shownDigest: ShownDigest(of: shown, request: request.id))
        try await channel.send(.answer(answer), operation: operation(3))
        let rest = try await collect(channel) {
            guard case .receipt(let receipt) = $0 else { return false }
            return receipt.operation == operation(2) && receipt.state == .done
        }
        #expect(rest.contains { "\($0)".contains("mew-was-here") })
        await channel.channel.finish()
        return ready.sessionID
    }

    /// Every message up to the one that `isLast` names.
    private func collect(
        _ channel: TestChannel, until isLast: (DaemonMessage) -> Bool
    ) async throws -> [DaemonMessage] {
        var messages: [DaemonMessage] = []
        while let message = try await channel.message() {
            messages.append(message)
            if isLast(message) { return messages }
        }
        Issue.record("the channel ended after \(messages.map(\.kind))")
        throw ChannelError.finished
    }
}
