import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

@Suite("What follows the end of a connection")
struct ReconnectPolicyTests {
    private let entropy = ConstantEntropy(value: 0)
    private let lost = ConnectionEnd.trouble(.lost("gone"))

    @Test("every way to end, and what follows it")
    func table() {
        let address = SocketAddress.loopback(port: 1)
        let ends: [(ConnectionEnd, ReconnectPolicy.Step)] = [
            (ConnectionEnd(.noRoute), .dial(after: .seconds(1), .noRoute)),
            (ConnectionEnd(.unreachable([])), .dial(after: .seconds(1), .unreachable([]))),
            (ConnectionEnd(.wrongNode(at: address)), .park(.wrongNode(address))),
            (ConnectionEnd(.cancelled), .stop),
            (ConnectionEnd(.local(.done)), .stop),
            (ConnectionEnd(.idle), .dial(after: .seconds(1), .lost("nothing was heard from it for too long"))),
            (ConnectionEnd(.reset), .dial(after: .seconds(1), .lost("it was restarted"))),
            (ConnectionEnd(.peer(.done, reason: "")), .dial(after: .seconds(1), .lost("it closed the connection"))),
            (ConnectionEnd(.peer(.unauthorized, reason: "no")), .park(.unauthorized("no"))),
            (ConnectionEnd(.peer(.revoked, reason: "by me")), .park(.revoked(at: nil, reason: "by me"))),
            (ConnectionEnd(.peer(.pairingRefused, reason: "spent")), .park(.pairingRefused("spent"))),
            (ConnectionEnd(.peer(.protocolViolation, reason: "x")), .park(.incompatible("x"))),
            (
                ConnectionEnd(.peer(.shuttingDown, reason: "restarting, back in 5 s")),
                .dial(after: .seconds(5), .restarting(.seconds(5)))
            ),
            (ConnectionEnd(.peer(.shuttingDown, reason: "bye")), .dial(after: .seconds(1), .lost("bye"))),
            (
                ConnectionEnd(DialError.refused(.peer(.unauthorized, reason: "unauthorized"))),
                .park(.unauthorized("unauthorized"))
            ),
        ]
        for (end, step) in ends {
            var policy = ReconnectPolicy()
            #expect(policy.ended(end, entropy: entropy) == step)
        }
    }

    @Test("an announced absence is waited for once; a daemon that stays away is backed off from")
    func announcedAbsence() {
        var policy = ReconnectPolicy()
        let restarting = ConnectionEnd.trouble(.restarting(.seconds(9)))
        #expect(policy.ended(restarting, entropy: entropy) == .dial(after: .seconds(9), .restarting(.seconds(9))))
        #expect(policy.ended(restarting, entropy: entropy) == .dial(after: .seconds(1), .restarting(.seconds(9))))
        policy.answered()
        #expect(policy.ended(restarting, entropy: entropy) == .dial(after: .seconds(9), .restarting(.seconds(9))))
    }

    @Test("an answer resets the back-off, and so does a person")
    func resets() {
        var policy = ReconnectPolicy()
        for _ in 0..<4 { _ = policy.ended(lost, entropy: entropy) }
        #expect(policy.ended(lost, entropy: entropy) == .dial(after: .seconds(16), .lost("gone")))
        policy.answered()
        #expect(policy.ended(lost, entropy: entropy) == .dial(after: .seconds(1), .lost("gone")))
        _ = policy.retried()
        #expect(policy.ended(lost, entropy: entropy) == .dial(after: .seconds(1), .lost("gone")))
    }

    @Test("every state, awake and asleep, against what people, the system and the connection do")
    func lifeCycle() {
        let inputs: [(String, (inout ReconnectPolicy) -> String)] = [
            ("a person retries", { words($0.retried()) }),
            ("triggered", { words($0.triggered()) }),
            ("background", { words($0.enteredBackground()) }),
            ("foreground", { words($0.enteredForeground()) }),
            ("trouble", { words($0.ended(lost, entropy: entropy)) }),
            ("refusal", { words($0.ended(.refusal(.unauthorized("")), entropy: entropy)) }),
            ("restarting", { words($0.ended(.trouble(.restarting(.seconds(9))), entropy: entropy)) }),
            ("stopped", { words($0.ended(.stopped, entropy: entropy)) }),
            ("next attempt", { $0.mayAttempt() ? "dial" : "–" }),
        ]
        let lines = ReconnectPolicy.State.allCases.flatMap { state in
            [false, true].flatMap { isAsleep in
                inputs.map { name, apply in
                    var policy = Self.policy(state, isAsleep: isAsleep)
                    let reaction = apply(&policy)
                    let after = "\(policy.state)\(policy.isAsleep ? ", asleep" : "")"
                    return "\(state)\(isAsleep ? ", asleep" : ""), \(name): \(reaction) → \(after)"
                }
            }
        }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private func words(_ reaction: ReconnectPolicy.Reaction) -> String {
        switch reaction {
        case .nothing: "–"
        case .interrupt: "interrupt"
        case .probe: "probe"
        }
    }

    private func words(_ step: ReconnectPolicy.Step) -> String {
        switch step {
        case .dial(let wait, _): "dial after \(wait.components.seconds) s"
        case .sleep: "sleep"
        case .park: "park"
        case .stop: "stop"
        }
    }

    /// Two failures ago.
    private static func policy(_ state: ReconnectPolicy.State, isAsleep: Bool) -> ReconnectPolicy {
        let entropy = ConstantEntropy(value: 0)
        var policy = ReconnectPolicy()
        for _ in 0..<2 { _ = policy.ended(.trouble(.noRoute), entropy: entropy) }
        switch state {
        case .waiting: break
        case .attempting: _ = policy.mayAttempt()
        case .linked: policy.linked()
        case .ready: policy.becameReady()
        case .parked: _ = policy.ended(.refusal(.unauthorized("")), entropy: entropy)
        }
        if isAsleep { _ = policy.enteredBackground() }
        return policy
    }

    private static let snapshot = """
        waiting, a person retries: interrupt → waiting
        waiting, triggered: interrupt → waiting
        waiting, background: interrupt → waiting, asleep
        waiting, foreground: interrupt → waiting
        waiting, trouble: dial after 4 s → waiting
        waiting, refusal: park → parked
        waiting, restarting: dial after 9 s → waiting
        waiting, stopped: stop → waiting
        waiting, next attempt: dial → attempting
        waiting, asleep, a person retries: interrupt → waiting
        waiting, asleep, triggered: – → waiting, asleep
        waiting, asleep, background: – → waiting, asleep
        waiting, asleep, foreground: interrupt → waiting
        waiting, asleep, trouble: sleep → waiting, asleep
        waiting, asleep, refusal: park → parked, asleep
        waiting, asleep, restarting: sleep → waiting, asleep
        waiting, asleep, stopped: stop → waiting, asleep
        waiting, asleep, next attempt: – → waiting, asleep
        attempting, a person retries: interrupt → attempting
        attempting, triggered: – → attempting
        attempting, background: interrupt → attempting, asleep
        attempting, foreground: – → attempting
        attempting, trouble: dial after 4 s → waiting
        attempting, refusal: park → parked
        attempting, restarting: dial after 9 s → waiting
        attempting, stopped: stop → waiting
        attempting, next attempt: dial → attempting
        attempting, asleep, a person retries: interrupt → attempting
        attempting, asleep, triggered: – → attempting, asleep
        attempting, asleep, background: – → attempting, asleep
        attempting, asleep, foreground: – → attempting
        attempting, asleep, trouble: sleep → waiting, asleep
        attempting, asleep, refusal: park → parked, asleep
        attempting, asleep, restarting: sleep → waiting, asleep
        attempting, asleep, stopped: stop → waiting, asleep
        attempting, asleep, next attempt: – → waiting, asleep
        linked, a person retries: interrupt → linked
        linked, triggered: – → linked
        linked, background: – → linked, asleep
        linked, foreground: – → linked
        linked, trouble: dial after 4 s → waiting
        linked, refusal: park → parked
        linked, restarting: dial after 9 s → waiting
        linked, stopped: stop → waiting
        linked, next attempt: dial → attempting
        linked, asleep, a person retries: interrupt → linked
        linked, asleep, triggered: – → linked, asleep
        linked, asleep, background: – → linked, asleep
        linked, asleep, foreground: – → linked
        linked, asleep, trouble: sleep → waiting, asleep
        linked, asleep, refusal: park → parked, asleep
        linked, asleep, restarting: sleep → waiting, asleep
        linked, asleep, stopped: stop → waiting, asleep
        linked, asleep, next attempt: – → waiting, asleep
        ready, a person retries: – → ready
        ready, triggered: – → ready
        ready, background: – → ready, asleep
        ready, foreground: probe → ready
        ready, trouble: dial after 4 s → waiting
        ready, refusal: park → parked
        ready, restarting: dial after 9 s → waiting
        ready, stopped: stop → waiting
        ready, next attempt: dial → attempting
        ready, asleep, a person retries: – → ready
        ready, asleep, triggered: – → ready, asleep
        ready, asleep, background: – → ready, asleep
        ready, asleep, foreground: probe → ready
        ready, asleep, trouble: sleep → waiting, asleep
        ready, asleep, refusal: park → parked, asleep
        ready, asleep, restarting: sleep → waiting, asleep
        ready, asleep, stopped: stop → waiting, asleep
        ready, asleep, next attempt: – → waiting, asleep
        parked, a person retries: interrupt → parked
        parked, triggered: – → parked
        parked, background: – → parked, asleep
        parked, foreground: – → parked
        parked, trouble: dial after 4 s → waiting
        parked, refusal: park → parked
        parked, restarting: dial after 9 s → waiting
        parked, stopped: stop → waiting
        parked, next attempt: dial → attempting
        parked, asleep, a person retries: interrupt → parked
        parked, asleep, triggered: – → parked, asleep
        parked, asleep, background: – → parked, asleep
        parked, asleep, foreground: – → parked
        parked, asleep, trouble: sleep → waiting, asleep
        parked, asleep, refusal: park → parked, asleep
        parked, asleep, restarting: sleep → waiting, asleep
        parked, asleep, stopped: stop → waiting, asleep
        parked, asleep, next attempt: – → waiting, asleep
        """

    @Test("announced absences are believed up to ten minutes")
    func absences() {
        #expect(ConnectionEnd.secondsOfAbsence("restarting, back in 600 s") == 600)
        #expect(ConnectionEnd.secondsOfAbsence("restarting, back in 601 s") == nil)
        #expect(ConnectionEnd.secondsOfAbsence("restarting, back in -1 s") == nil)
        #expect(ConnectionEnd.secondsOfAbsence("back in") == nil)
        #expect(ConnectionEnd.secondsOfAbsence("") == nil)
    }
}
