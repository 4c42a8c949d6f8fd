import MewBase
import MewSim
import MewSimNode
import MewWire
import Testing

/// Whole nodes, real relay servers, seeds: how long a dial may take.
@Suite("Laws of the dial")
struct DialLawTests {
    @Test(
        "through a relay the first byte comes within 2 s, also where packets have at most 1280 bytes", arguments: 0..<20
    )
    func firstByte(seed: Int) throws {
        var plan = SimStage.Plan(knowsAddress: false).wired(by: UInt64(seed))
        if seed % 2 == 0 { plan.wire.mtu = 1_280 }
        if seed % 3 == 0 { plan.nearBox = SimRouter.Behaviour() }
        if seed % 5 == 0 { plan.farBox = SimRouter.Behaviour() }
        try withSimStage(seed: UInt64(seed), plan) { stage in
            try stage.dial()
            #expect(stage.broken == nil)
            let dialled = try #require(stage.conversation.dialled)
            let first = try #require(stage.conversation.toNear.arrived.first)
            #expect(dialled.duration(to: first) <= .seconds(2))
        }
    }

    @Test(
        "a direct handshake that is complete after the relay's shows the way: the link moves there at once",
        arguments: 0..<6)
    func lateDirect(seed: Int) throws {
        var plan = SimStage.Plan().wired(by: UInt64(seed))
        plan.startsCut = true
        try withSimStage(seed: UInt64(seed), plan) { stage in
            let began = stage.world.now
            try stage.dial()
            try stage.world.run(for: began.advanced(by: .milliseconds(2_500)).duration(to: stage.world.now) * -1)
            #expect(!stage.isDirect)
            // The link's own probes have failed, and an address is not asked again for five seconds.
            stage.healDirect()
            try stage.world.run(until: { stage.isDirect }, limit: .seconds(3))
            #expect(stage.isDirect)
            try stage.world.run(for: .seconds(5))
            #expect(stage.broken == nil)
            #expect(stage.conversation.paths.count == 2)
        }
    }

    /// What may answer no dial.
    enum Dead: String, CaseIterable { case relay, address, both }

    @Test("a dial to what does not answer ends within 10 s", arguments: SimRelay.Failing.allCases, Dead.allCases)
    func deadline(how: SimRelay.Failing, dead: Dead) throws {
        try withSimStage(seed: 1, SimStage.Plan(relays: 2, knowsAddress: dead != .relay)) { stage in
            for relay in stage.relays { relay.fail(how) }
            stage.cutDirect()
            try stage.dial()
            let dialled = try #require(stage.conversation.dialled)
            #expect(stage.conversation.dialFailure != nil)
            #expect(dialled.duration(to: stage.world.now) <= .seconds(10) + .milliseconds(1))
        }
    }
}
