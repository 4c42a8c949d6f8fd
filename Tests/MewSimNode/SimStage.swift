package import MewBase
internal import MewLoop
internal import MewNode
package import MewSim
package import MewWire

/// Two nodes, the relays between them, and one conversation: what most laws are about.
///
///     near ── (box) ──┬── relay 1 ──┬── (box) ── far
///                     ├── relay 2 ──┤
///                     └── direct ───┘
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
package final class SimStage: @unchecked Sendable {
    /// What there is.
    package struct Plan: Sendable {
        package var relays = 1
        /// Whether the dialler knows the listener's address.
        package var knowsAddress = true
        package var nearBox: SimRouter.Behaviour?
        package var farBox: SimRouter.Behaviour?
        package var talk = Talk.both
        /// Of all links outside.
        package var wire = LinkProfile()

        package init(relays: Int = 1, knowsAddress: Bool = true, talk: Talk = .both) {
            (self.relays, self.knowsAddress, self.talk) = (relays, knowsAddress, talk)
        }

        /// The wires as the seed has them: up to 60 ms each way, now and then a packet lost.
        package func wired(by seed: UInt64) -> Plan {
            var random = SeededGenerator(seed: SeededGenerator.mix(seed &+ 0x77))
            var plan = self
            plan.wire = LinkProfile(
                latency: .milliseconds(Int64(2 + random.below(58))), jitter: .milliseconds(Int64(random.below(4))),
                loss: Double(random.below(11)) / 1_000)
            return plan
        }
    }

    package let world: SimWorld
    package let relays: [SimRelay]
    package let near: SimPeer
    package let far: SimPeer
    package let nearBox: SimRouter?
    package let farBox: SimRouter?
    package let conversation: Conversation
    private let plan: Plan

    package init(_ world: SimWorld, _ plan: Plan) throws {
        (self.world, self.plan) = (world, plan)
        world.changeLinks { $0 = plan.wire }
        relays = (0..<plan.relays).map { SimRelay(world, number: UInt32($0 + 1)) }
        nearBox = plan.nearBox.map { behaviour in world.addRouter("near's box") { $0 = behaviour } }
        farBox = plan.farBox.map { behaviour in world.addRouter("far's box") { $0 = behaviour } }
        far = try SimPeer(world, "far", key: 2, relays: relays.map(\.url), behind: farBox)
        near = try SimPeer(world, "near", key: 1, behind: nearBox)
        conversation = Conversation(world, from: near, to: far, talk: plan.talk)
        // Until the listener has found its relays.
        try world.run(for: .seconds(2))
    }

    package var target: DialTarget {
        DialTarget(
            node: far.node.node, addresses: plan.knowsAddress ? [far.address] : [],
            relays: relays.map(\.url.description))
    }

    /// Dials, and returns when both sides have heard something, or the dial has failed.
    package func dial() throws {
        conversation.dial(target)
        try world.run(until: { isTalking || conversation.dialFailure != nil }, limit: .seconds(60))
    }

    private var isTalking: Bool {
        (plan.talk.near == nil || !conversation.toFar.arrived.isEmpty)
            && (plan.talk.far == nil || !conversation.toNear.arrived.isEmpty)
            && conversation.connected != nil
    }

    /// What one law says about the conversation until now; nil when all is well.
    package var broken: String? {
        if let failure = conversation.dialFailure { return "the dial failed: \(failure)" }
        if let closure = conversation.closure { return "the link was closed: \(closure)" }
        if let disorder = conversation.toFar.disorder { return "to the listener \(disorder)" }
        return conversation.toNear.disorder.map { "to the dialler \($0)" }
    }

    package var isDirect: Bool { if case .direct? = conversation.path { true } else { false } }

    /// The worse of both directions that are in use; nil when one of them has not recovered.
    package func recovery(from event: Instant) -> Duration? {
        var worst = Duration.zero
        for (pause, delivery) in [(plan.talk.near, conversation.toFar), (plan.talk.far, conversation.toNear)]
        where pause != nil {
            guard let time = delivery.recovery(from: event) else { return nil }
            worst = max(worst, time)
        }
        return worst
    }

    /// Runs until what is said after `event` arrives, in every direction that is in use.
    ///
    /// - Returns: how long that took; nil when it has not after `limit`.
    package func recover(from event: Instant, within limit: Duration) throws -> Duration? {
        var isLate = false
        world.plan(at: event.advanced(by: limit)) { isLate = true }
        try world.run(until: { isLate || recovery(from: event) != nil || conversation.closure != nil })
        return recovery(from: event)
    }

    /// Nothing passes between the two nodes directly, or only one way.
    package func cutDirect(toFar: Bool = true, toNear: Bool = true) {
        changeDirect { link, isToFar in if isToFar ? toFar : toNear { link.isDown = true } }
    }

    package func healDirect() {
        changeDirect { link, _ in link = self.plan.wire }
    }

    package func changeDirect(_ body: (inout LinkProfile, _ isToFar: Bool) -> Void) {
        world.changeLink(from: near.machine, to: far.machine) { body(&$0, true) }
        world.changeLink(from: far.machine, to: near.machine) { body(&$0, false) }
    }

    /// Ends everything in order.
    package func end() throws {
        conversation.end()
        near.stop()
        far.stop()
        try world.run(for: .seconds(2))
    }
}

/// A world with a stage in it.
package func withSimStage<Result>(
    seed: UInt64, _ plan: SimStage.Plan, _ body: (SimStage) throws -> Result
) throws -> Result {
    try withSimWorld(seed: seed, mayAbandonTasks: true) { world in
        let stage = try SimStage(world, plan)
        let result = try body(stage)
        try stage.end()
        return result
    }
}
