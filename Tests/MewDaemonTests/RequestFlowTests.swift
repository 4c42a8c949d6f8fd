import MewBase
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

@Suite("Requests, over links", .timeLimit(.minutes(1)))
struct RequestFlowTests {
    private static let operation = OperationID(ULID(high: 5, low: 5))

    @Test("an observer reads, and hears by code and operation what it may not do")
    func scope() async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.phone, scope: .observe)]) { bench in
            let control = try await bench.connect(Pairing.phone)
            try await control.enter()
            let session = SessionID(ULID(high: 1, low: 1))
            try await control.send(
                .renameSession(.init(sessionID: session, title: "x")), operation: Self.operation, ref: "r1")
            let answer = try await control.receive()
            #expect(answer?.ref == "r1")
            #expect(
                answer?.message
                    == .error(
                        .init(
                            message: "remote access scope `observe` does not allow this operation", code: .scope,
                            operation: Self.operation)))
            try await control.send(.listSessions)
            #expect(try await control.message() == .sessionList(.init(sessions: [])))
        }
    }

    @Test("a scope that the operator changes holds from the next request on")
    func scopeChange() async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.phone)]) { bench in
            let phone = try await bench.connect(Pairing.phone, .stock)
            try await phone.hello()
            _ = try await phone.message()
            try await bench.daemon.setScope(.observe, of: Pairing.phone)
            try await phone.send(.prompt(.init(text: "ls")))
            guard case .error(let error)? = try await phone.message() else { return fail("no error") }
            #expect(error.message == "remote access scope `observe` does not allow this operation")
        }
    }

    @Test("what cannot be read is answered and the connection lives on", arguments: ApplicationProtocol.allCases)
    func nonsense(applicationProtocol: ApplicationProtocol) async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.phone)]) { bench in
            let channel = try await bench.connect(Pairing.phone, applicationProtocol)
            try await channel.hello()
            _ = try await channel.message()
            let nested = String(repeating: "[", count: 100_000)
            for text in ["", "{", "[]", "{\"type\":3}", "{\"type\":\"prompt\"}", nested, "\u{0}", "{\"type\":\"ping\""]
            {
                try await channel.send(text: text)
                guard case .error(let error)? = try await channel.message() else {
                    return fail("no error: \(text.prefix(20))")
                }
                #expect(error.message.hasPrefix("invalid message: "))
            }
            try await channel.channel.send([0xff, 0xfe, 0x00])
            guard case .error? = try await channel.message() else { return fail("no error") }
            try await channel.send(.ping)
            #expect(try await channel.message() == .pong(.init(version: "0.2.0")))
        }
    }

    @Test("unknown types and types that are not served yet are refused by code")
    func unknownTypes() async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.phone)]) { bench in
            let control = try await bench.connect(Pairing.phone)
            try await control.enter()
            try await control.send(text: "{\"type\":\"dance\",\"ref\":\"r9\"}")
            let answer = try await control.receive()
            #expect(answer?.ref == "r9")
            #expect(
                answer?.message == .error(.init(message: "this daemon does not know dance", code: .unknownType)))
            try await control.send(.gitStatus(.init(sessionID: SessionID(ULID(high: 1, low: 1)))))
            #expect(
                try await control.message()
                    == .error(.init(message: "this daemon does not serve git_status yet", code: .unknownType)))
        }
    }

    @Test("natively a change without op_id is refused by code; a wrong field of an operation gets a receipt")
    func operations() async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.phone)]) { bench in
            let control = try await bench.connect(Pairing.phone)
            try await control.enter()
            try await control.send(.setAutoTitle(.init(enabled: true)))
            guard case .error(let error)? = try await control.message() else { return fail("no error") }
            #expect(error.code == .opIDRequired)
            try await control.send(text: "{\"type\":\"set_auto_title\",\"op_id\":\"\(Self.operation)\",\"enabled\":7}")
            guard case .receipt(let receipt)? = try await control.message() else { return fail("no receipt") }
            #expect(receipt.state == .refused && receipt.code == .badInput && receipt.operation == Self.operation)
        }
    }

    @Test("control messages on a session channel are refused by code, and a hello again is answered again")
    func channels() async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.phone)]) { bench in
            let peer = try await bench.dial(Pairing.phone)
            let control = try await peer.open()
            try await control.enter()
            try await control.hello()
            guard case .remoteReady? = try await control.message() else { return fail("no second ready") }
            let session = try await peer.open()
            try await session.send(.ping)
            guard case .error(let error)? = try await session.message() else { return fail("no error") }
            #expect(error.code == .wrongChannel)
        }
    }

    @Test("the end of control ends the connection, the end of a session channel does not")
    func ends() async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.phone)]) { bench in
            let peer = try await bench.dial(Pairing.phone)
            let control = try await peer.open()
            try await control.enter()
            let session = try await peer.open()
            try await session.send(.attachSession(.init(sessionID: SessionID(ULID(high: 1, low: 1)))))
            _ = try await session.message()
            await session.channel.finish()
            #expect(try await session.receive() == nil)
            try await control.send(.ping)
            #expect(try await control.message() == .pong(.init(version: "0.2.0")))
            await control.channel.finish()
            #expect(await peer.link.closed() == .peer(.done, reason: "the first channel has ended"))
        }
    }

    @Test("what goes to everyone reaches every device that is in")
    func broadcast() async throws {
        let rows = [DaemonBench.device(Pairing.phone), DaemonBench.device(Pairing.laptop)]
        try await DaemonBench.with(devices: rows) { bench in
            let laptop = try await bench.connect(Pairing.laptop)
            try await laptop.enter()
            let phone = try await bench.connect(Pairing.phone, .stock)
            try await phone.hello()
            _ = try await phone.message()
            await bench.sessions.broadcast(.groupsChanged(.init(groups: [])))
            #expect(try await laptop.message() == .groupsChanged(.init(groups: [])))
            #expect(try await phone.message() == .groupsChanged(.init(groups: [])))
        }
    }

    @Test("planned absence: everyone is closed with 5 and told when the daemon is back")
    func stop() async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.phone)]) { bench in
            let control = try await bench.connect(Pairing.phone)
            try await control.enter()
            await bench.daemon.stop(backIn: .seconds(10))
            #expect(await control.link.closed() == .peer(.shuttingDown, reason: "restarting, back in 10 s"))
            let late = try await bench.dial(Pairing.phone)
            #expect(await late.link.closed() == .peer(.shuttingDown, reason: "the daemon is stopping"))
        }
    }
}
