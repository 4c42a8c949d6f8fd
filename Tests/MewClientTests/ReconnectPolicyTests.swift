import MewBase
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
        policy.retried()
        #expect(policy.ended(lost, entropy: entropy) == .dial(after: .seconds(1), .lost("gone")))
    }

    @Test("announced absences are believed up to ten minutes")
    func absences() {
        #expect(ConnectionEnd.secondsOfAbsence("restarting, back in 600 s") == 600)
        #expect(ConnectionEnd.secondsOfAbsence("restarting, back in 601 s") == nil)
        #expect(ConnectionEnd.secondsOfAbsence("restarting, back in -1 s") == nil)
        #expect(ConnectionEnd.secondsOfAbsence("back in") == nil)
        #expect(ConnectionEnd.secondsOfAbsence("") == nil)
    }
}
