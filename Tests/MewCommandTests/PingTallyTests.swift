import MewBase
import MewWire
import Testing

@testable import mew

@Suite("What mew ping sums up")
struct PingTallyTests {
    private static let direct = LinkPath.direct(.loopback(port: 7))
    private static let relayed = LinkPath.relay(url: "https://relay.example/")

    private func summary(_ paths: [LinkPath?]) -> String? {
        var tally = PingTally()
        for (index, path) in paths.enumerated() {
            tally.add(.init(roundTrip: .milliseconds(30 - index), path: path))
        }
        return tally.summary
    }

    @Test("a relay that failed is told of, and one that was named and has not answered; no other")
    func relays() throws {
        let named = [try RelayURL("https://a.test/")]
        func words(_ name: String, _ state: RelayCandidate.State) -> String? {
            PingTally.words(on: RelayCandidate(url: "https://\(name).test/", state), named: named)
        }
        for name in ["a", "b"] {
            #expect(words(name, .failed("refused")) == "was of no use: refused")
            #expect(words(name, .connected(complaint: nil)) == nil && words(name, .notWanted) == nil)
        }
        #expect(words("a", .connecting) == "has not answered so far")
        #expect(words("b", .connecting) == nil)
    }

    @Test("one reply needs no summary")
    func one() {
        #expect(summary([Self.direct]) == nil)
        #expect(summary([]) == nil)
    }

    @Test("least, most and median of the round trips")
    func times() {
        #expect(
            summary([Self.direct, Self.direct, Self.direct])
                == "3 replies, round trip 28.000 ms to 30.000 ms, median 29.000 ms")
    }

    @Test("the median of an even count is the mean of the two in the middle")
    func evenCount() {
        #expect(summary([Self.direct, Self.direct])?.contains("median 29.500 ms") == true)
        #expect(summary([Self.direct, Self.direct, Self.direct, Self.direct])?.contains("median 28.500 ms") == true)
    }

    @Test(
        "when it became direct, and whether it stayed so",
        arguments: [
            ([relayed, relayed, direct, direct], "direct after 2 pings"), ([relayed, direct], "direct after 1 ping"),
            ([relayed, direct, relayed], "direct for a while, now and then not"),
            ([direct, relayed], "direct for a while, now and then not"),
        ])
    func paths(paths: [LinkPath], words: String) {
        #expect(summary(paths)?.hasSuffix("; " + words) == true, "\(summary(paths) ?? "nil")")
    }

    @Test("a path that was never direct, or not known, is not talked about")
    func neverDirect() {
        #expect(summary([Self.relayed, nil])?.contains("direct") == false)
    }
}
