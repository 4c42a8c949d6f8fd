import MewBase
import MewIdentity
import MewSim
import MewTestSupport
import MewWire
import Synchronization
import Testing

@testable import MewRelay

@Suite("A relay that has no place")
struct RelayFullTests {
    /// Notes when it was tried.
    private final class Watched: RelayConnector {
        private let relay: CannedRelay
        private let loop: SimLoop
        private let times = Mutex<[Instant]>([])

        init(status: Int, on loop: SimLoop) {
            relay = CannedRelay(answer: HTTPResponse(status).encoded)
            self.loop = loop
        }

        var tried: [Instant] { times.withLock { $0 } }

        func connect(to url: RelayURL) async throws(StreamFailure) -> any TCPStream {
            let now = loop.now
            times.withLock { $0.append(now) }
            return try await relay.connect(to: url)
        }
    }

    @Test(
        "is told in words, with when it is tried again, and is left alone for about a second, then longer",
        arguments: [
            (429, "the relay has too many connections from our network already (HTTP status 429)"),
            (503, "the relay takes no more connections now (HTTP status 503)"),
        ])
    func full(status: Int, words: String) throws {
        for seed in UInt64(1)...8 {
            try withSimWorld(seed: seed) { world in
                let machine = world.addNode("client")
                let (connector, log) = (Watched(status: status, on: machine.loop), RelayLog())
                let settings = RelayLeg.Settings(
                    url: try RelayURL("http://relay.test/"), secret: try key(1), diagnostics: log)
                let leg = RelayLeg(settings, connector: connector, loop: machine.loop, entropy: machine.entropy)
                try world.run(on: machine) { await leg.start() }
                try world.run(for: .milliseconds(1))
                let told = try world.run(on: machine) { await leg.status }
                try world.run(for: .milliseconds(800))
                let late = try world.run(on: machine) { await leg.status }
                try world.run(for: .seconds(20))
                let waits = zip(connector.tried, connector.tried.dropFirst()).map { $0.duration(to: $1) }
                try #require(waits.count >= 3, "\(waits)")
                #expect(waits[0] >= .milliseconds(960) && waits[0] <= .milliseconds(1_600))
                #expect(waits[1] >= .milliseconds(1_920) && waits[2] >= .milliseconds(3_840))
                #expect(told.problem == words && told.lastFailure == .full)
                let advice = "it is tried again in \(waits[0] <= .seconds(1) ? 1 : 2) s"
                #expect(told.advice == advice)
                #expect(late.advice == "it is tried again in 1 s")
                let lines = log["relay_lost"].map(\.message)
                #expect(lines == ["the relay http://relay.test/: \(words); \(advice)"])
                try world.run(on: machine) { await leg.close() }
            }
        }
    }

    @Test("every other refusal keeps its own words and advice")
    func others() throws {
        for status in [200, 400, 401, 403, 404, 428, 430, 500, 502, 504] {
            #expect(RelayCrowding(rawValue: status) == nil)
            #expect(throws: LegUpgrade.Refusal.reason("the relay answered HTTP status \(status) instead of 101")) {
                try LegUpgrade(entropy: SystemEntropy()).version(in: HTTPResponse(status))
            }
        }
        #expect(LegEnd.refused("x").advice(again: .zero)?.hasPrefix("check the relay's URL and the key") == true)
        #expect(LegEnd.crowded(.relay).advice(again: .zero) == "it is tried again now")
        #expect(LegEnd.crowded(.relay).advice(again: .nanoseconds(1)) == "it is tried again in 1 s")
        #expect(LegEnd.crowded(.relay).advice(again: .seconds(16)) == "it is tried again in 16 s")
        #expect(LegEnd.crowded(.relay).advice(again: .milliseconds(16_001)) == "it is tried again in 17 s")
        #expect(LegEnd.ended.advice(again: .zero) == nil)
    }
}
