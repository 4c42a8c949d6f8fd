import MewBase
import MewSim
import MewSimNode
import MewWire
import Testing

@Suite("Laws of the standby relay")
struct StandbyLawTests {
    @Test(
        "with two relays known, data flows over the standby soon after the one in use fails, by one change and for good",
        arguments: SimRelay.Failing.allCases, 0..<4)
    func standby(how: SimRelay.Failing, seed: Int) throws {
        var plan = SimStage.Plan(relays: 2, knowsAddress: false).wired(by: UInt64(seed))
        // A listener that calls tells its addresses, and this is about relays.
        plan.startsCut = true
        try withSimStage(seed: UInt64(seed), plan) { stage in
            try stage.dial()
            try stage.world.run(for: .seconds(5))
            let used = try #require(stage.relays.first { stage.conversation.path == .relay(url: $0.url.description) })
            used.fail(how)
            let event = stage.world.now
            let time = try stage.recover(from: event, within: .seconds(30))
            #expect(try #require(time) <= .seconds(5))
            try stage.world.run(for: .seconds(10))
            used.recover()
            try stage.world.run(for: .seconds(30))
            #expect(stage.conversation.paths.filter { $0.time > event }.count == 1)
            #expect(stage.broken == nil)
        }
    }
}
