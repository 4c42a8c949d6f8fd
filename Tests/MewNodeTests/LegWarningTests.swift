import MewBase
import MewIdentity
import MewSim
import MewWire
import Synchronization
import Testing

@testable import MewRelay

@Suite("What the log says of a relay that cannot be used")
struct LegWarningTests {
    /// Fails as it is told to.
    private final class Refusing: RelayConnector {
        let failure: Mutex<StreamFailure>

        init(_ failure: StreamFailure) { self.failure = Mutex(failure) }

        func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream { throw failure.withLock { $0 } }
    }

    private final class Log: DiagnosticSink {
        private let kept = Mutex<[String]>([])

        func wants(_ level: Diagnostic.Level) -> Bool { level >= .info }
        func record(_ diagnostic: Diagnostic) { kept.withLock { $0.append(diagnostic.message) } }
        var lines: [String] { kept.withLock { $0 } }
    }

    @Test("one line for each reason, with what to do; the same again only after 10 minutes, however often it is tried")
    func oneLine() throws {
        let certificate = StreamFailure.tls(.certificate("the issuer is unknown"))
        let (connector, log) = (Refusing(certificate), Log())
        let url = try RelayURL("https://relay.test/")
        try withSimWorld(seed: 1) { world in
            let machine = world.addNode("desk")
            let secret = try #require(SecretKey(seed: [UInt8](repeating: 9, count: 32)))
            let leg = RelayLeg(
                .init(url: url, secret: secret, diagnostics: log), connector: connector, loop: machine.loop,
                entropy: machine.entropy)
            try world.run(on: machine) { await leg.start() }
            try world.run(for: .seconds(590))
            try #require(log.lines.count == 1, "\(log.lines)")
            #expect(
                log.lines[0].hasPrefix("the relay https://relay.test/: the certificate is not trusted: the issuer is"))
            #expect(log.lines[0].contains("--relay-trust FILE"))
            #expect(try world.run(on: machine) { await leg.status.advice }?.contains("--relay-trust") == true)
            connector.failure.withLock { $0 = .timedOut }
            try world.run(for: .seconds(60))
            #expect(log.lines.count == 2 && log.lines.last?.contains("check that the relay runs") == true)
            connector.failure.withLock { $0 = certificate }
            try world.run(for: .seconds(60))
            #expect(log.lines.count == 3)
            try world.run(on: machine) { await leg.close() }
        }
    }
}
