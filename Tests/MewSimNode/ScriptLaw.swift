internal import MewBase
internal import MewSim
internal import MewWire

/// The laws of the paths (issue 3) for whatever happens, as long as some way works at every time:
///
/// - the link is never closed, and data comes in order and once;
/// - what is said after a mishap arrives within ten seconds of it, unless the next one comes before; where more was said than two
///   lossy hops carry, it waits behind that, and it is enough that data flows;
/// - at most one change of the path away and one back for each mishap;
/// - at most five probes a second to each address, from either side;
/// - when all is well again, so is the link, and it is direct where that is possible.
package struct ScriptLaw: Sendable {
    /// Of virtual time until everything that was said has arrived.
    package static let recovery: Duration = .seconds(10)
    /// After the last repair: legs that wait, addresses that are not tried for a while.
    package static let rest: Duration = .seconds(60)
    package static let directAgain: Duration = .seconds(400)

    /// A law that was not kept.
    package struct Breach: Hashable, Sendable, CustomStringConvertible {
        package enum Law: Sendable { case link, recovery, changes, probes, rest, directAgain, simulation }

        package let law: Law
        /// What happened instead.
        package let description: String
    }

    /// What came of one script.
    package struct Outcome: Sendable {
        /// Empty when every law was kept.
        package var broken: [Breach] = []
        package var mishaps = 0
        package var changes = 0
        /// How long data took after each mishap that had ten seconds to itself.
        package var recoveries: [Duration] = []
        /// Over everything that was sent, and when: the same in any process.
        package var trace: UInt64 = 0
    }

    package init() {}

    /// The shortest script that still breaks the law that this one breaks first; nil when it breaks none.
    package func shrunk(_ script: Script, seed: UInt64) -> Script? {
        guard let first = run(script, seed: seed).broken.first else { return nil }
        return script.shrunk(tries: 40) { shorter in
            shorter.alwaysHasRoute && run(shorter, seed: seed).broken.contains { $0.law == first.law }
        }
    }

    package func run(_ script: Script, seed: UInt64) -> Outcome {
        do {
            return try withSimStage(seed: seed, script.plan) { stage in
                var run = ScriptRun(stage, script)
                try run.play()
                return run.outcome
            }
        } catch {
            return Outcome(broken: [Breach(law: .simulation, description: "\(error)")])
        }
    }
}

/// One script being played.
private struct ScriptRun {
    private let stage: SimStage
    private let script: Script
    private(set) var outcome = ScriptLaw.Outcome()

    init(_ stage: SimStage, _ script: Script) {
        (self.stage, self.script) = (stage, script)
    }

    private var world: SimWorld { stage.world }
    private var conversation: Conversation { stage.conversation }

    mutating func play() throws {
        try stage.dial()
        // The dial's other ways end with its deadline.
        try world.run(for: .seconds(12))
        let probes = ProbeLaw(stage)
        for (index, entry) in script.entries.enumerated() {
            try wait(entry.after, since: index == 0 ? nil : script.entries[index - 1].mishap)
            guard stage.broken == nil else { break }
            try perform(entry.mishap)
            outcome.mishaps += entry.mishap.isEvent ? 1 : 0
        }
        if stage.broken == nil { try finish(probes) }
        if let broken = stage.broken { breach(.link, broken) }
        if let broken = probes.broken { breach(.probes, broken) }
        judgeChanges()
        outcome.trace = world.trace.hash
    }

    private mutating func breach(_ law: ScriptLaw.Breach.Law, _ words: String) {
        outcome.broken.append(ScriptLaw.Breach(law: law, description: words))
    }

    /// Lets the time until the next mishap pass, and looks how the link has got over the last one.
    private mutating func wait(_ time: Duration, since last: Mishap?) throws {
        let began = world.now
        guard let last, last.isEvent, time >= ScriptLaw.recovery else { return try world.run(for: time) }
        try world.run(for: ScriptLaw.recovery)
        judgeRecovery(from: began, last)
        try world.run(for: time - ScriptLaw.recovery)
    }

    private mutating func judgeRecovery(from began: Instant, _ last: Mishap) {
        let sides = [
            ("to the listener", conversation.talk.near, conversation.toFar),
            ("to the dialler", conversation.talk.far, conversation.toNear),
        ]
        for (name, pause, delivery) in sides where pause.map({ $0 <= .seconds(2) }) ?? false {
            if let time = delivery.recovery(from: began) {
                outcome.recoveries.append(time)
            } else if !delivery.flows(now: world.now) {
                breach(
                    .recovery,
                    "nothing \(name) for \(ScriptLaw.recovery) after \(last) at \(SimWorld.start.duration(to: began))")
            }
        }
    }

    private func perform(_ mishap: Mishap) throws {
        script.plan.log?("\(SimWorld.start.duration(to: world.now).milliseconds) ms \(mishap)")
        switch mishap {
        case .cut(let toFar, let toNear): stage.cutDirect(toFar: toFar, toNear: toNear)
        case .narrow(let bytes): stage.narrowDirect(to: bytes)
        case .heal: stage.healDirect()
        case .fail(let relay, let how): stage.relays[relay].fail(how)
        case .recover(let relay): stage.relays[relay].recover()
        case .move(let side): stage.move(side)
        case .forget(let side): stage.parts(side).box?.forgetMappings()
        case .sleep(let side, let time): try freeze(side, time) { $0.sleep() }
        case .stop(let side, let time): try freeze(side, time) { $0.stop() }
        case .say(let talk): conversation.talk = talk
        }
    }

    private func freeze(_ side: SimStage.Side, _ time: Duration, _ how: (SimNode) -> Void) throws {
        let machine = stage.parts(side).peer.machine
        how(machine)
        try world.run(for: time)
        stage.wake(side)
    }

    private mutating func finish(_ probes: ProbeLaw) throws {
        stage.healDirect()
        for relay in stage.relays { relay.recover() }
        outcome.mishaps += 1
        conversation.talk = .both
        try world.run(for: ScriptLaw.rest)
        let began = world.now
        guard stage.broken == nil else { return }
        try world.run(for: .seconds(2))
        for delivery in [conversation.toFar, conversation.toNear] where delivery.recovery(from: began) == nil {
            breach(.rest, "nothing arrives although everything has been well for \(ScriptLaw.rest)")
        }
        guard stage.mayBeDirect else { return }
        conversation.talk = Talk(near: .seconds(5), far: .seconds(5))
        let end = world.now.advanced(by: ScriptLaw.directAgain)
        while !stage.isDirect, stage.broken == nil, world.now < end { try world.run(for: .seconds(1)) }
        if !stage.isDirect {
            breach(.directAgain, "not direct \(ScriptLaw.directAgain) after everything was well again")
        }
    }

    /// Each mishap may cost one change away and one back, and the first one is the way from the relay that the dial began with.
    private mutating func judgeChanges() {
        outcome.changes = max(0, conversation.paths.count - 1)
        let allowed = 2 * outcome.mishaps + 1
        guard outcome.changes > allowed else { return }
        let changes = conversation.paths.suffix(12).map { "\(SimWorld.start.duration(to: $0.time)) \($0.path)" }
        breach(
            .changes,
            "\(outcome.changes) changes of the path for \(outcome.mishaps) mishaps: …, \(changes.joined(separator: ", "))"
        )
    }
}
