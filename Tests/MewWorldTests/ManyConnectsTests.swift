import MewBase
import MewLoop
import MewNode
import MewQUIC
import MewSim
import MewSimNode
import MewWire
import Testing

@Suite("A thousand connects and punches")
struct ManyConnectsTests {
    /// Dials, is direct through both routers, and goes away.
    private static func visit(_ near: SimPeer, _ target: DialTarget) async throws {
        let link = try await near.node.dial(target)
        let channel = try await link.openChannel()
        try await channel.send(Array("hello".utf8))
        while case .relay = await link.status().path {
            try await LoopClock(near.machine.loop).sleep(for: .milliseconds(50))
        }
        await link.close(code: .done, reason: "")
    }

    @Test("leave no connection, no ID, no path and no relay behind")
    func leaveNothing() throws {
        let box = SimRouter.Behaviour()
        var plan = SimStage.Plan(relays: 1, knowsAddress: false, talk: .quiet)
        (plan.nearBox, plan.farBox, plan.surveys) = (box, box, true)
        try withSimStage(seed: 1, plan) { stage in
            let (near, far, target) = (stage.near, stage.far, stage.target)
            for _ in 1...1_000 {
                try stage.world.run(on: near.machine, limit: .seconds(60)) { try await Self.visit(near, target) }
            }
            // What is remembered for a while is forgotten.
            try stage.world.run(for: .seconds(120))
            for peer in [near, far] {
                let gauges = try stage.world.run(on: peer.machine) { await peer.node.gauges }
                #expect(gauges.endpoint.connections == 0 && gauges.endpoint.connectionIDs == 0)
                #expect(gauges.endpoint.resetTokens == 0 && gauges.endpoint.halfOpen == 0)
                #expect(gauges.keepers == 0 && gauges.visits == 0)
            }
        }
    }
}
