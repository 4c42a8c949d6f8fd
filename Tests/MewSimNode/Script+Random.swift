internal import MewBase
internal import MewSim

extension Script {
    /// The script of a seed: a stage, and some ten mishaps that leave a way at every time.
    package static func random(seed: UInt64) -> Script {
        var random = SeededGenerator(seed: SeededGenerator.mix(seed &+ 0x5c))
        let plan = plan(&random, seed)
        var script = Script(plan, [])
        var routes = RouteOracle(plan)
        let count = 4 + Int(random.below(9))
        while script.entries.count < count {
            let entry = Entry(
                after: .milliseconds(Int64(300 + random.below(gap(&random)))), mishap(plan, routes, &random))
            var next = routes
            guard next.apply(entry) else { continue }
            routes = next
            script.entries.append(entry)
        }
        return script
    }

    /// Half of the mishaps come so soon that the last one is not over.
    private static func gap(_ random: inout SeededGenerator) -> UInt64 {
        random.happens(0.5) ? 4_000 : 40_000
    }

    private static func plan(_ random: inout SeededGenerator, _ seed: UInt64) -> SimStage.Plan {
        var plan = SimStage.Plan(relays: 1 + Int(random.below(3)), knowsAddress: !random.happens(0.1)).wired(by: seed)
        if random.happens(0.4) { plan.nearBox = box(&random) }
        if random.happens(0.2) { plan.farBox = box(&random) }
        if random.happens(0.2) { plan.wire.mtu = 1_280 }
        plan.talk = talk(&random)
        return plan
    }

    private static func box(_ random: inout SeededGenerator) -> SimRouter.Behaviour {
        var behaviour = SimRouter.Behaviour()
        behaviour.mapping = SimRouter.Dependence.allCases[Int(random.below(3))]
        behaviour.filtering = SimRouter.Dependence.allCases[Int(random.below(3))]
        behaviour.preservesPorts = random.happens(0.7)
        behaviour.lifetime = random.happens(0.5) ? .seconds(30) : .seconds(120)
        behaviour.passesUDP = !random.happens(0.1)
        return behaviour
    }

    private static func talk(_ random: inout SeededGenerator) -> Talk {
        var talk = [Talk.both, .nearOnly, .farOnly, .quiet, .both][Int(random.below(5))]
        if random.happens(0.3) { talk.bytes = 4_000 }
        if random.happens(0.3) { (talk.near, talk.far) = (talk.near.map { $0 * 20 }, talk.far.map { $0 * 20 }) }
        return talk
    }

    private static func mishap(_ plan: SimStage.Plan, _ routes: RouteOracle, _ random: inout SeededGenerator) -> Mishap
    {
        let side = random.happens(0.5) ? SimStage.Side.near : .far
        switch random.below(12) {
        case 0, 1:
            if routes.isDirectCut { return .heal }
            return [
                .cut(toFar: true, toNear: true), .cut(toFar: true, toNear: false), .cut(toFar: false, toNear: true),
            ][
                Int(random.below(3))]
        case 2: return routes.isDirectCut ? .heal : .narrow(random.happens(0.5) ? 1_100 : 600)
        case 3, 4:
            if let relay = routes.failedRelays.first { return .recover(relay: relay) }
            return .fail(
                relay: Int(random.below(UInt64(plan.relays))), SimRelay.Failing.allCases[Int(random.below(3))])
        case 5: return routes.failedRelays.last.map { .recover(relay: $0) } ?? .heal
        case 6, 7, 8: return .move(side)
        case 9: return .forget(side)
        case 10:
            let time = Duration.milliseconds(Int64(500 + random.below(14_500)))
            return random.happens(0.5) ? .sleep(side, time) : .stop(side, time)
        default: return .say(talk(&random))
        }
    }
}
