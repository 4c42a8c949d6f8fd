internal import MewBase
internal import MewSim

/// A machine gets another address, a box another one outside, a machine sleeps: with whom, on which path, and who talks.
package struct UplinkChange: Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable, CaseIterable { case moves, boxMoves, boxForgets, sleeps }

    package enum Talkers: String, Sendable, CaseIterable {
        case both = "both talk"
        case dialler = "the dialler talks"
        case listener = "the listener talks"

        var talk: Talk {
            switch self {
            case .both: .both
            case .dialler: .nearOnly
            case .listener: .farOnly
            }
        }
    }

    package let side: SimStage.Side
    package let kind: Kind
    package let isDirect: Bool
    package let talkers: Talkers

    package var description: String {
        "\(side) \(kind), \(isDirect ? "direct" : "relayed"), \(talkers.rawValue)"
    }

    package static let all: [UplinkChange] = SimStage.Side.allCases.flatMap { side in
        Kind.allCases.flatMap { kind in
            [true, false].flatMap { isDirect in
                Talkers.allCases.map { UplinkChange(side: side, kind: kind, isDirect: isDirect, talkers: $0) }
            }
        }
    }.filter(\.canHappen)

    /// Nobody reaches a listener behind a box directly without punching.
    private var canHappen: Bool { !(isDirect && side == .far && needsBox) }

    private var needsBox: Bool {
        switch kind {
        case .boxMoves, .boxForgets: true
        case .moves, .sleeps: false
        }
    }

    func plan(seed: UInt64) -> SimStage.Plan {
        var plan = SimStage.Plan(knowsAddress: isDirect, talk: talkers.talk).wired(by: seed)
        plan.startsCut = !isDirect
        guard needsBox else { return plan }
        switch side {
        case .near: plan.nearBox = SimRouter.Behaviour()
        case .far: plan.farBox = SimRouter.Behaviour()
        }
        return plan
    }

    /// How long a machine sleeps: its relay has given it up meanwhile, and its link lives.
    private static let sleep: Duration = .seconds(12)

    /// - Returns: since when data has to flow.
    func happen(on stage: SimStage) throws -> Instant {
        switch kind {
        case .moves, .boxMoves: stage.move(side)
        case .boxForgets: stage.parts(side).box?.forgetMappings()
        case .sleeps:
            stage.parts(side).peer.machine.sleep()
            try stage.world.run(for: Self.sleep)
            stage.wake(side)
        }
        return stage.world.now
    }

    /// What came of it on the stage of one seed.
    package struct Outcome: Sendable {
        /// How long after the change the first message arrived that was sent after it, in the worse direction of those in use;
        /// nil when none has after 40 s.
        package var recovery: Duration?
        /// What broke a law that holds whatever happens.
        package var broken: String?
    }

    /// - Parameter log: takes what the nodes report.
    package func run(seed: UInt64, log: (@Sendable (String) -> Void)? = nil) throws -> Outcome {
        var plan = plan(seed: seed)
        plan.log = log
        return try withSimStage(seed: seed, plan) { stage in
            try stage.dial()
            if isDirect { try stage.world.run(until: { stage.isDirect }, limit: .seconds(20)) }
            // At another moment of whatever repeats itself for each seed.
            try stage.world.run(for: .milliseconds(5_000 + 137 * Int64(seed)))
            log?("\(SimWorld.start.duration(to: stage.world.now).milliseconds) ms \(self)")
            let time = try stage.recover(from: happen(on: stage), within: .seconds(40))
            log?("\(SimWorld.start.duration(to: stage.world.now).milliseconds) ms data flows")
            return Outcome(recovery: time, broken: stage.broken)
        }
    }
}
