import MewBase
import MewLoop
import MewNode
import MewSim
import MewSimNode
import MewWire
import Testing

@Suite("Laws of relays that fail")
struct RelayLawTests {
    @Test(
        "when the relay that carries a link fails and two are known, data flows within 10 s",
        arguments: SimRelay.Failing.allCases,
        ["both", "near", "far"])
    func relayFails(how: SimRelay.Failing, talkers: String) throws {
        var times: [Duration?] = []
        for seed in UInt64(0)..<6 {
            var plan = SimStage.Plan(relays: 2, knowsAddress: false).wired(by: seed)
            plan.startsCut = true
            plan.talk = talkers == "both" ? .both : talkers == "near" ? .nearOnly : .farOnly
            try withSimStage(seed: seed, plan) { stage in
                try stage.dial()
                try stage.world.run(for: .milliseconds(15_000 + 137 * Int64(seed)))
                let carrier = try #require(
                    stage.relays.first { .relay(url: $0.url.description) == stage.conversation.path })
                carrier.fail(how)
                times.append(try stage.recover(from: stage.world.now, within: .seconds(40)))
                if let broken = stage.broken { Issue.record("\(how), seed \(seed): \(broken)") }
            }
        }
        let sorted = times.map { $0 ?? .seconds(999) }.sorted()
        #expect(sorted[5] <= .seconds(10))
    }

    @Test(
        "whatever pieces a stream to the relay takes and gives, messages of several packets arrive, and neither end sees a broken frame",
        arguments: UInt64(0)..<4)
    func pieces(seed: UInt64) throws {
        var plan = SimStage.Plan(knowsAddress: false)
        (plan.startsCut, plan.cutsStreams) = (true, true)
        plan.talk = Talk(near: .milliseconds(100), far: .milliseconds(100), bytes: 20_000)
        let lost = Shared<[String]>([])
        plan.log = { if $0.contains("relay_lost") { lost.value.append($0) } }
        try withSimStage(seed: seed, plan) { stage in
            try stage.dial()
            // Some pings and pongs come between the packets.
            try stage.world.run(for: .seconds(40))
            for delivery in [stage.conversation.toFar, stage.conversation.toNear] {
                #expect(delivery.arrived.count > 300, "seed \(seed): \(delivery.arrived.count)")
            }
            #expect(lost.value.isEmpty, "seed \(seed): \(lost.value)")
            #expect(stage.broken == nil)
            #expect(stage.conversation.path == .relay(url: stage.relays[0].url.description))
        }
    }

    @Test("a relay that serves only those on its list serves a dialler on it, through restarts, and no other")
    func listed() throws {
        for seed in UInt64(0)..<4 {
            var plan = SimStage.Plan(knowsAddress: false).wired(by: seed)
            plan.startsCut = true
            plan.listed = [1, 2]
            try withSimStage(seed: seed, plan) { stage in
                try stage.dial()
                #expect(stage.broken == nil)
                try #require(stage.conversation.path == .relay(url: stage.relays[0].url.description))
                try stage.world.run(for: .seconds(15))
                stage.relays[0].fail(.dies)
                try stage.world.run(for: .seconds(6))
                stage.relays[0].recover()
                let time = try stage.recover(from: stage.world.now, within: .seconds(20))
                #expect(try #require(time) <= .seconds(10))
                #expect(stage.broken == nil)
            }
            plan.listed = [2]
            try withSimStage(seed: seed, plan) { stage in
                try stage.dial()
                #expect(stage.broken?.contains("the relay does not admit us: not authorized") == true)
            }
        }
    }

    @Test(
        "after a relay died, a node that knows nothing but the node ID and some relays has a link within 15 s",
        arguments: SimRelay.Failing.allCases, 0..<1)
    func thirdNode(how: SimRelay.Failing, seed: Int) throws {
        var plan = SimStage.Plan(relays: 3, knowsAddress: false).wired(by: UInt64(seed))
        // A dialler that is told the listener's addresses would leave the relay.
        (plan.publishes, plan.startsCut) = (true, true)
        try withSimStage(seed: UInt64(seed), plan) { stage in
            let third = try SimPeer(stage.world, "third", key: 3, knows: stage.relays.map(\.url))
            try stage.dial()
            try stage.world.run(for: .milliseconds(5_000 + 137 * Int64(seed)))
            let used = try #require(stage.relays.first { .relay(url: $0.url.description) == stage.conversation.path })
            used.fail(how)
            let failed = stage.world.now
            let isReached = Shared(false)
            let target = DialTarget(node: stage.far.node.node, addresses: [])
            third.machine.loop.spawn {
                while !isReached.value { isReached.value = (try? await third.node.dial(target)) != nil }
            }
            try stage.world.run(until: { isReached.value }, limit: .seconds(60))
            #expect(failed.duration(to: stage.world.now) <= .seconds(15))
            #expect(stage.broken == nil)
            third.stop()
        }
    }

    @Test("a link through the only relay goes on when that is there again", arguments: SimRelay.Failing.allCases)
    func onlyRelay(how: SimRelay.Failing) throws {
        for seed in UInt64(0)..<4 {
            var plan = SimStage.Plan(knowsAddress: false).wired(by: seed)
            plan.startsCut = true
            try withSimStage(seed: seed, plan) { stage in
                try stage.dial()
                try stage.world.run(for: .seconds(15))
                stage.relays[0].fail(how)
                try stage.world.run(for: .seconds(6))
                stage.relays[0].recover()
                let time = try stage.recover(from: stage.world.now, within: .seconds(20))
                #expect(try #require(time) <= .seconds(10))
                #expect(stage.broken == nil)
            }
        }
    }
}
