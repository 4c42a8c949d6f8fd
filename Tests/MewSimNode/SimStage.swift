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
        /// The listener's record is at the relays.
        package var publishes = false
        /// Whether the dialler knows the listener's address.
        package var knowsAddress = true
        package var nearBox: SimRouter.Behaviour?
        package var farBox: SimRouter.Behaviour?
        /// Boxes of the providers, with the others behind them.
        package var nearCarrier: SimRouter.Behaviour?
        package var farCarrier: SimRouter.Behaviour?
        /// Both are behind the dialler's box.
        package var isOneHouse = false
        /// Of the sockets of both nodes.
        package var families: [SocketAddress.Family] = [.ipv4]
        /// Both nodes ask what the outside says of their sockets.
        package var surveys = false
        package var talk = Talk.both
        /// Nothing passes directly from the beginning on: without that a listener's call soon makes a link direct.
        package var startsCut = false
        /// The keys of the peers that the relays serve (the dialler has 1, the listener 2); nil for everybody.
        package var listed: [UInt8]?
        /// Takes what the nodes report, each line with its time and its side.
        package var log: (@Sendable (String) -> Void)?
        /// Streams to relays take and give pieces of any size.
        package var cutsStreams = false
        /// Of all links outside.
        package var wire = LinkProfile()

        package init(relays: Int = 1, knowsAddress: Bool = true, talk: Talk = .both) {
            (self.relays, self.knowsAddress, self.talk) = (relays, knowsAddress, talk)
        }

        /// Whether the dialler can know of an address of the listener at which it can be reached.
        package var mayBeDirect: Bool { knowsAddress && farBox == nil && nearBox?.passesUDP ?? true }

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

    package enum Side: String, Sendable, CaseIterable { case near, far }

    package let world: SimWorld
    package let relays: [SimRelay]
    package let near: SimPeer
    package let far: SimPeer
    package let nearBox: SimRouter?
    package let farBox: SimRouter?
    /// The boxes of the providers.
    package let carriers: [SimRouter]
    package let conversation: Conversation
    private let plan: Plan
    private var directLinks: (toFar: LinkProfile, toNear: LinkProfile)
    private var moves = 0

    package init(_ world: SimWorld, _ plan: Plan) throws {
        (self.world, self.plan) = (world, plan)
        directLinks = (plan.wire, plan.wire)
        world.changeLinks { $0 = plan.wire }
        relays = (0..<plan.relays).map {
            SimRelay(world, number: UInt32($0 + 1), serving: plan.listed, families: plan.families)
        }
        let nearCarrier = plan.nearCarrier.map { behaviour in world.addRouter("near's carrier") { $0 = behaviour } }
        let farCarrier = plan.farCarrier.map { behaviour in world.addRouter("far's carrier") { $0 = behaviour } }
        carriers = [nearCarrier, farCarrier].compactMap { $0 }
        let nearBox = plan.nearBox.map { behaviour in
            world.addRouter("near's box", behind: nearCarrier) { $0 = behaviour }
        }
        self.nearBox = nearBox
        farBox =
            plan.isOneHouse
            ? nearBox
            : plan.farBox.map { behaviour in world.addRouter("far's box", behind: farCarrier) { $0 = behaviour } }
        far = try SimPeer(
            world, "far", key: 2, relays: relays.map(\.url), publishes: plan.publishes, behind: farBox,
            network: plan.network(.far), surveys: plan.surveys, cutsStreams: plan.cutsStreams,
            diagnostics: plan.sink(world, .far))
        near = try SimPeer(
            world, "near", key: 1, behind: nearBox, network: plan.network(.near), surveys: plan.surveys,
            cutsStreams: plan.cutsStreams, diagnostics: plan.sink(world, .near))
        conversation = Conversation(world, from: near, to: far, talk: plan.talk)
        if plan.startsCut { cutDirect() }
        // Until the listener has found its relays.
        try world.run(for: .seconds(2))
    }

    package var target: DialTarget {
        DialTarget(
            node: far.node.node, addresses: plan.knowsAddress ? far.addresses : [],
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

    // MARK: - What happens to it

    /// Nothing passes between the two nodes directly, or only one way.
    package func cutDirect(toFar: Bool = true, toNear: Bool = true) {
        changeDirect { link, isToFar in if isToFar ? toFar : toNear { link.isDown = true } }
    }

    /// Packets larger than `bytes` vanish between the two nodes, headers included.
    package func narrowDirect(to bytes: Int, toFar: Bool = true, toNear: Bool = true) {
        changeDirect { link, isToFar in if isToFar ? toFar : toNear { link.mtu = bytes } }
    }

    package func healDirect() {
        changeDirect { link, _ in link = self.plan.wire }
    }

    private func changeDirect(_ body: (inout LinkProfile, _ isToFar: Bool) -> Void) {
        body(&directLinks.toFar, true)
        body(&directLinks.toNear, false)
        applyDirect()
    }

    /// Links are between addresses; where the machines have moved to, they are the same.
    private func applyDirect() {
        let (toFar, toNear) = directLinks
        world.changeLink(from: near.machine, to: far.machine) { $0 = toFar }
        world.changeLink(from: far.machine, to: near.machine) { $0 = toNear }
    }

    /// The machine is plugged in elsewhere. One behind a box stays there: its box has a new address outside.
    package func move(_ side: Side) {
        moves += 1
        let address = SocketAddress(ipv4: 0x0a03_0000 + UInt32(moves), port: 0)
        let (peer, box) = parts(side)
        if let box {
            box.change(address: address)
        } else {
            peer.machine.move(to: [address])
            tell(peer)
        }
        applyDirect()
    }

    /// A kernel's messages are gathered for so long before a node hears of them.
    private static let gathering: Duration = .milliseconds(250)

    private func tell(_ peer: SimPeer) {
        world.plan(at: world.now.advanced(by: Self.gathering)) { peer.networkChanged() }
    }

    /// Ends what `sleep` or `stop` of its machine began.
    package func wake(_ side: Side) {
        let peer = parts(side).peer
        let hasSlept = peer.machine.state == .asleep
        peer.machine.resume()
        // A process that was stopped is not told.
        if hasSlept { tell(peer) }
    }

    package var mayBeDirect: Bool { plan.mayBeDirect }

    package func parts(_ side: Side) -> (peer: SimPeer, box: SimRouter?) {
        switch side {
        case .near: (near, nearBox)
        case .far: (far, farBox)
        }
    }

    func log(_ words: String) {
        plan.log?("\(SimWorld.start.duration(to: world.now).milliseconds) ms \(words)")
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

extension SimStage.Plan {
    fileprivate func network(_ side: SimStage.Side) -> SimPeer.Network {
        var network = SimPeer.Network()
        network.families = families
        if families.contains(.ipv6) {
            let prefix: UInt64 = side == .near || isOneHouse ? 0x2001_0db8_0000_0001 : 0x2001_0db8_0000_0002
            network.ipv6 = SocketAddress(ipv6High: prefix, low: side == .near ? 1 : 2, port: 0)
        }
        return network
    }

    fileprivate func sink(_ world: SimWorld, _ side: SimStage.Side) -> any DiagnosticSink {
        log.map { LineSink(world: world, side: side, take: $0) } ?? NoDiagnostics()
    }
}

/// Writes diagnostics as lines.
private struct LineSink: DiagnosticSink {
    let world: SimWorld
    let side: SimStage.Side
    let take: @Sendable (String) -> Void

    func wants(_ level: Diagnostic.Level) -> Bool { true }

    func record(_ diagnostic: Diagnostic) {
        take(
            "\(SimWorld.start.duration(to: world.now).milliseconds) ms \(side) \(diagnostic.name): \(diagnostic.message)"
        )
    }
}
