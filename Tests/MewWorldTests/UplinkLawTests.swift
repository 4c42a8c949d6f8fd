import MewBase
import MewSimNode
import Testing

@Suite("Laws of a changing uplink")
struct UplinkLawTests {
    /// What issue 3 names gets its twenty, the others less.
    private func spread(_ change: UplinkChange) throws -> Spread {
        let seeds: UInt64 = change.kind == .moves && change.talkers == .both ? 20 : 5
        let times = try (0..<seeds).map { seed in
            let outcome = try change.run(seed: seed)
            if let broken = outcome.broken { Issue.record("\(change), seed \(seed): \(broken)") }
            return outcome.recovery
        }
        let spread = Spread(times)
        print("figure after \(change): \(spread)")
        return spread
    }

    @Test(
        "after a change of either side's uplink data flows within 5 s, in the median within 2 s",
        arguments: UplinkChange.all.filter { $0.kind != .sleeps })
    func uplink(change: UplinkChange) throws {
        let spread = try spread(change)
        #expect(try #require(spread.worst) <= .seconds(5))
        #expect(try #require(spread.median) <= .seconds(2))
    }

    @Test("when either side wakes data flows within 5 s", arguments: UplinkChange.all.filter { $0.kind == .sleeps })
    func sleep(change: UplinkChange) throws {
        #expect(try #require(try spread(change).worst) <= .seconds(5))
    }
}
