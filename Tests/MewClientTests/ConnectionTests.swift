import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

@Suite("The connection to a daemon", .timeLimit(.minutes(1)))
struct ConnectionTests {
    @Test("hello, ready, and the pong's version is kept", arguments: [ApplicationProtocol.native, .stock])
    func hello(applicationProtocol: ApplicationProtocol) async throws {
        let stage = Stage(protocols: [applicationProtocol])
        try await stage.run { feed in
            let link = try await stage.accept()
            let hello = try await link.welcome(version: "0.2.0")
            #expect(hello.deviceName == "laptop")
            #expect(hello.capabilities == (applicationProtocol == .native ? ["ops", "resume", "desk", "lease"] : nil))
            let phase = try await feed.phase { $0.readyLink != nil }
            #expect(phase.readyLink?.scope == .control)
            #expect(phase.readyLink?.applicationProtocol == applicationProtocol)
            while await stage.store.records().registry[stage.record.node]?.version != "0.2.0" { await Task.yield() }
        }
    }

    @Test("the token is sent once and forgotten after the first remote_ready")
    func tokenIsForgotten() async throws {
        let stage = Stage(token: "mew_secret")
        try await stage.run { feed in
            #expect(try await stage.accept().welcome().token == "mew_secret")
            try await feed.ready()
            #expect(await stage.store.records().registry[stage.record.node]?.token == nil)
            stage.daemon.breakLinks()
            try await feed.phase { if case .waiting = $0 { true } else { false } }
            await stage.clock.sleeper(for: .seconds(1))
            stage.clock.advance(by: .seconds(1))
            #expect(try await stage.accept().welcome().token == nil)
        }
    }

    @Test("back-off grows with each failure, and a pong resets it")
    func backOff() async throws {
        let stage = Stage()
        stage.daemon.stopListening()
        try await stage.run { feed in
            for seconds in [1, 2, 4] {
                let phase = try await feed.phase { if case .waiting = $0 { true } else { false } }
                guard case .waiting(let wait, .unreachable) = phase else { throw FakeDaemonError("\(phase)") }
                #expect(wait == .seconds(seconds))
                await stage.clock.sleeper(for: .seconds(seconds))
                if seconds == 4 { stage.daemon.listen() }
                stage.clock.advance(by: .seconds(seconds))
            }
            try await stage.accept().welcome()
            while await stage.supervisor.view.record.version != "9.9" { await Task.yield() }
            stage.daemon.breakLinks()
            let phase = try await feed.phase { if case .waiting = $0 { true } else { false } }
            guard case .waiting(.seconds(1), .lost) = phase else { throw FakeDaemonError("\(phase)") }
        }
    }

    @Test(
        "a refusal parks: no dial follows until somebody retries",
        arguments: [
            (CloseCode.unauthorized, ConnectionRefusal.unauthorized("no")),
            (.revoked, .revoked(at: nil, reason: "no")), (.pairingRefused, .pairingRefused("no")),
            (.protocolViolation, .incompatible("no")),
        ])
    func parks(code: CloseCode, refusal: ConnectionRefusal) async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            _ = try await link.control.receive()
            await link.link.close(code: code, reason: "no")
            #expect(try await feed.phase { if case .parked = $0 { true } else { false } } == .parked(refusal))
            stage.clock.advance(by: .seconds(3_600))
            await stage.supervisor.retry()
            try await stage.accept().welcome()
            try await feed.ready()
        }
    }

    @Test("the code of a refused pairing is the daemon's, when it says one")
    func refusalCode() async throws {
        let stage = Stage(token: "mew_old")
        try await stage.run { feed in
            let link = try await stage.accept()
            _ = try await link.control.receive()
            let error = DaemonMessage.ErrorReply(message: "the pairing window is closed", code: .windowClosed)
            try await link.control.send(.error(error))
            await link.link.close(code: .pairingRefused, reason: error.message)
            let phase = try await feed.phase { if case .parked = $0 { true } else { false } }
            #expect(phase == .parked(.pairingRefused(error.message, .windowClosed)))
            guard case .parked(let refusal) = phase else { return }
            #expect(ClientError(refusal).code == .windowClosed)
        }
    }

    @Test("what the daemon said before it closed is the reason that is shown")
    func complaint() async throws {
        let stage = Stage(token: "mew_old")
        try await stage.run { feed in
            let link = try await stage.accept()
            _ = try await link.control.receive()
            try await link.control.send(.error(DaemonMessage.ErrorReply(message: "this code was used already")))
            await link.link.close(code: .pairingRefused, reason: "pairing refused")
            #expect(
                try await feed.phase { if case .parked = $0 { true } else { false } }
                    == .parked(.pairingRefused("this code was used already")))
        }
    }

    @Test("a revoked device learns when and why")
    func revoked() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            _ = try await link.control.receive()
            try await link.control.send(
                .revoked(DaemonMessage.Revoked(at: WallTime(milliseconds: 77), reason: "lost phone")))
            await link.link.close(code: .revoked, reason: "revoked")
            #expect(
                try await feed.phase { if case .parked = $0 { true } else { false } }
                    == .parked(.revoked(at: WallTime(milliseconds: 77), reason: "lost phone")))
        }
    }

    @Test("a daemon that ends the control channel is lost, and dialled again", arguments: [false, true])
    func controlEnded(closes: Bool) async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            await link.control.channel.finish()
            await stage.clock.sleeper(for: .seconds(2))
            if closes {
                await link.link.close(code: .shuttingDown, reason: "back in 5 s")
            } else {
                stage.clock.advance(by: .seconds(2))
            }
            let phase = try await feed.phase()
            if closes {
                #expect(phase == .waiting(.seconds(5), .restarting(.seconds(5))))
            } else {
                #expect(phase == .waiting(.seconds(1), .lost("it ended the conversation")))
            }
        }
    }

    @Test("a device that was told that it is revoked parks, whoever closes the link")
    func revokedOnControl() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            let revoked = DaemonMessage.Revoked(at: WallTime(milliseconds: 77), reason: "lost phone")
            try await link.control.send(.revoked(revoked))
            await link.control.channel.finish()
            await stage.clock.sleeper(for: .seconds(2))
            stage.clock.advance(by: .seconds(2))
            #expect(try await feed.phase() == .parked(.revoked(at: revoked.at, reason: "lost phone")))
        }
    }

    @Test("not admitted is whom a relay refused when nothing else led there, whatever failed beside it")
    func refusedByRelays() {
        func attempt(_ number: Int, _ failure: DialError.RelayFailure?) -> DialError.Attempt {
            .init(route: .relay(url: "https://\(number)/"), outcome: "no", relayFailure: failure)
        }
        let address = DialError.Attempt(route: .direct(.loopback(port: 1)), outcome: "no answer")
        let cases: [([DialError.Attempt], ErrorCode)] = [
            ([attempt(1, .notAdmitted)], .unauthorized),
            ([attempt(1, .notAdmitted), attempt(2, .notAdmitted)], .unauthorized),
            ([attempt(1, .notAdmitted), attempt(2, .notBelieved)], .unauthorized),
            ([attempt(1, .outOfReach), attempt(2, .notAdmitted)], .unauthorized),
            // The first relay is all right, the daemon is not there.
            ([attempt(1, nil), attempt(2, .notAdmitted)], .unauthorized),
            ([address, attempt(1, .notAdmitted)], .unauthorized),
            ([address, attempt(1, .outOfReach)], .unreachable), ([address], .unreachable), ([], .unreachable),
        ]
        for (attempts, code) in cases {
            let error = ClientError(.unreachable(attempts))
            #expect(error.code == code, "\(error.message)")
            guard code == .unauthorized else { continue }
            let refusing = attempts.first { $0.relayFailure == .notAdmitted }?.route
            #expect(error.relay.map { .relay(url: $0.url) } == refusing, "that is what can be mended from here")
        }
    }

    @Test("this device is said to have no network only when no relay failed otherwise")
    func noNetwork() {
        func failure(_ failures: [DialError.RelayFailure]) -> DialError.RelayFailure? {
            let attempts = failures.map {
                DialError.Attempt(route: .relay(url: "https://a/"), outcome: "no", relayFailure: $0)
            }
            return ClientError(.unreachable(attempts)).relay?.failure
        }
        #expect(failure([.noNetwork, .noNetwork]) == .noNetwork)
        for other in DialError.RelayFailure.allCases { #expect(failure([.noNetwork, other]) == other) }
    }

    @Test("an announced absence is waited for exactly, without back-off")
    func plannedAbsence() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            await link.link.close(code: .shuttingDown, reason: "restarting, back in 7 s")
            #expect(
                try await feed.phase { if case .waiting = $0 { true } else { false } }
                    == .waiting(.seconds(7), .restarting(.seconds(7))))
            await stage.clock.sleeper(for: .seconds(7))
            stage.clock.advance(by: .seconds(7))
            try await stage.accept().welcome()
        }
    }

    @Test("an explicit retry ends the wait")
    func retryEndsTheWait() async throws {
        let stage = Stage()
        stage.daemon.stopListening()
        try await stage.run { feed in
            try await feed.phase { if case .waiting = $0 { true } else { false } }
            stage.daemon.listen()
            await stage.supervisor.retry()
            try await stage.accept().welcome()
            try await feed.ready()
        }
    }

    @Test("a hello that nobody answers is given up after ten seconds, and not before")
    func helloDeadline() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            _ = try await link.control.receive()
            await stage.clock.sleeper(for: .seconds(10))
            stage.clock.advance(by: .milliseconds(9_999))
            stage.clock.advance(by: .milliseconds(1))
            let phase = try await feed.phase { if case .waiting = $0 { true } else { false } }
            guard case .waiting(_, .lost(let how)) = phase else { throw FakeDaemonError("\(phase)") }
            #expect(how == "it did not answer the hello in 10 s")
        }
    }

    @Test("without a token both sides show the same six digits while a person decides")
    func pairingDigits() async throws {
        let stage = Stage(pairs: true)
        try await stage.run { feed in
            let link = try await stage.accept()
            #expect(try await link.asksToPair() == true)
            try await link.control.send(.pairPending(DaemonMessage.PairPending(expiresInSeconds: 120)))
            let exported = try await link.link.export(label: PairingDigits.label, byteCount: 8)
            #expect(
                try await feed.phase { if case .pairing = $0 { true } else { false } }
                    == .pairing(digits: PairingDigits.text(exported), expiresInSeconds: 120))
            stage.clock.advance(by: .seconds(100))
            try await link.control.send(
                .remoteReady(DaemonMessage.RemoteReady(scope: .observe, capabilities: ["ops", "resume", "desk"])))
            #expect(try await feed.phase { $0.readyLink != nil }.readyLink?.scope == .observe)
        }
    }

    @Test("who does not pair does not ask to be let in, and does not wait for somebody there")
    func doesNotPair() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            #expect(try await link.asksToPair() == nil)
            try await link.control.send(.pairPending(DaemonMessage.PairPending(expiresInSeconds: 120)))
            #expect(
                try await feed.phase { if case .parked = $0 { true } else { false } } == .parked(.unauthorized("")))
        }
    }

    @Test("digits are the exported number modulo a million, with its zeros")
    func digits() {
        #expect(PairingDigits.text([0, 0, 0, 0, 0, 0, 0, 7]) == "000007")
        #expect(PairingDigits.text([0, 0, 0, 0, 0, 0x0f, 0x42, 0x41]) == "000001")
        #expect(PairingDigits.text([UInt8](repeating: 0xff, count: 8)) == "551615")
    }

    @Test("a daemon without the mandatory capabilities is left with code 4")
    func capabilities() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            _ = try await link.control.receive()
            try await link.control.send(
                .remoteReady(DaemonMessage.RemoteReady(scope: .control, capabilities: ["ops", "future"])))
            let closure = await link.link.closed()
            #expect(
                closure
                    == .peer(.protocolViolation, reason: "the daemon cannot do resume, desk; update it"))
            try await feed.phase { if case .parked(.incompatible) = $0 { true } else { false } }
        }
    }

    @Test("a stock daemon without --remote refuses the hello and serves us all the same, as a phone")
    func legacy() async throws {
        let stage = Stage(protocols: [.stock])
        try await stage.run { feed in
            let link = try await stage.accept()
            _ = try await link.control.receive()
            try await link.control.send(
                .error(
                    DaemonMessage.ErrorReply(message: "remote authentication is only available over iroh")))
            let ready = try await feed.phase { $0.readyLink != nil }.readyLink
            #expect(ready?.scope == nil)
            #expect(ready?.clientKind == .mobile)
        }
    }

    @Test("that a daemon saves nothing is believed until the next connection, which is told anew")
    func saving() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            try await link.control.send(.daemonState(DaemonMessage.DaemonState(isSaving: false, reason: "disk full")))
            while await stage.supervisor.view.isSaving { await Task.yield() }
            stage.daemon.breakLinks()
            try await feed.phase { if case .waiting = $0 { true } else { false } }
            #expect(await !stage.supervisor.view.isSaving, "nobody has said otherwise")
            await stage.supervisor.triggered()
            try await stage.accept().welcome()
            try await feed.ready()
            #expect(await stage.supervisor.view.isSaving)
        }
    }

    @Test("the list of sessions is asked for again on a new link, and the last one stays until it is there")
    func listsAgain() async throws {
        let stage = Stage()
        let lists = try ["sess_1", "sess_2"].map { text in
            let session = try #require(SessionID(text))
            return [SessionInfo(sessionID: session, state: .idle, createdAt: WallTime(milliseconds: 1))]
        }
        try await stage.run { feed in
            let link = try await stage.connected(feed)
            async let first = stage.supervisor.listSessions()
            let asked = try await link.control.receive()
            try await link.control.send(.sessionList(DaemonMessage.SessionList(sessions: lists[0])), ref: asked.ref)
            #expect(try await first == lists[0])
            let next = try await stage.reconnect(feed)
            #expect(try await next.control.receive().message == .listSessions)
            #expect(await stage.supervisor.view.sessions == lists[0])
            try await next.control.send(.sessionList(DaemonMessage.SessionList(sessions: lists[1])))
            while await stage.supervisor.view.sessions != lists[1] { _ = await feed.next() }
        }
    }

    @Test("messages of unknown types and broken ones are skipped, counted, and end nothing")
    func skips() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            try await link.control.send(text: "{\"type\":\"from_the_future\",\"x\":1}")
            try await link.control.send(text: "{\"type\":\"session_list\"}")
            try await link.control.send(text: "not json")
            async let sessions = stage.supervisor.listSessions()
            let request = try await link.control.receive()
            try await link.control.send(
                .sessionList(DaemonMessage.SessionList(sessions: [])), ref: request.ref)
            #expect(try await sessions.isEmpty)
            #expect(await stage.supervisor.view.skippedMessages == 3)
        }
    }
}
