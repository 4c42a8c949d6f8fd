internal import MewBase
internal import MewClient
internal import MewSim
internal import MewStore
internal import MewWire

/// The promise of issue 4 for whatever happens: nothing is lost, nothing runs twice, nothing is hidden.
///
/// When everything is well again, within two minutes:
///
/// - every device shows the conversation that the journal tells, and was told events that are the journal's, byte for byte, one
///   after the other;
/// - no words were executed twice, by the list of the agent;
/// - every prompt that was acknowledged has one end, and whoever asked was told that one;
/// - every request has one outcome, the same for everybody;
/// - no operation is being sent, and of none is it unknown whether it arrived;
/// - all see the same list of sessions.
package enum SessionLaw {
    /// Of virtual time: a dial may wait 30 s for its turn, and a link may take 30 s to be given up.
    package static let rest: Duration = .seconds(120)

    /// A law that was not kept.
    package struct Breach: Hashable, Sendable, CustomStringConvertible {
        package enum Law: String, Sendable {
            case transcript, journal, once, result, request, operations, lists, rest, simulation
        }

        package let law: Law
        /// What was so instead.
        package let words: String

        package var description: String { "\(law): \(words)" }
    }

    package struct Counts: Hashable, Sendable {
        package var acts = 0
        package var mishaps = 0
        package var events = 0
        package var turns = 0
        package var requests = 0
        /// How often a device was too slow and was told so.
        package var gaps = 0
        /// From the last mishap until all was at rest.
        package var recovery = Duration.zero

        package init() {}
    }

    /// What came of one script.
    package struct Outcome: Sendable {
        /// Empty when every law was kept.
        package var broken: [Breach] = []
        /// Over the journal, the agent's list, and what every device was told.
        package var digest: UInt64 = 0
        package var counts = Counts()
    }

    package static func run(seed: UInt64, fault: DaemonFault? = nil) -> Outcome {
        run(.random(seed: seed), seed: seed, fault: fault)
    }

    /// - Parameters:
    ///   - fault: of the daemon, which is to be noticed.
    ///   - log: takes what happens, line by line.
    package static func run(
        _ script: SessionScript, seed: UInt64, fault: DaemonFault? = nil, log: (@Sendable (String) -> Void)? = nil
    ) -> Outcome {
        do {
            // An agent that is killed waits for an answer of its session for ever.
            return try withSimWorld(seed: seed, mayAbandonTasks: true) { world in
                let stage = try SessionStage(world, fault: fault, log: log)
                var play = SessionPlay(stage)
                try play.run(script)
                try stage.end()
                return play.outcome
            }
        } catch {
            return Outcome(broken: [Breach(law: .simulation, words: "\(error)")])
        }
    }

    /// The shortest script that still breaks the law that the seed's breaks first; nil when it breaks none.
    package static func shrunk(seed: UInt64, fault: DaemonFault? = nil) -> SessionScript? {
        let script = SessionScript.random(seed: seed)
        guard let first = run(script, seed: seed, fault: fault).broken.first else { return nil }
        return script.shrunk(tries: 80) {
            run($0, seed: seed, fault: fault).broken.contains { $0.law == first.law }
        }
    }
}

/// One script being played.
private struct SessionPlay {
    private let stage: SessionStage
    private(set) var outcome = SessionLaw.Outcome()

    init(_ stage: SessionStage) { self.stage = stage }

    mutating func run(_ script: SessionScript) throws {
        for entry in script.entries {
            try stage.world.run(for: entry.after)
            stage.perform(entry.act)
            if entry.act.isMishap { outcome.counts.mishaps += 1 } else { outcome.counts.acts += 1 }
        }
        stage.log.note("everything is well again")
        stage.heal()
        guard try comesToRest() else { return }
        let picture = try RestPicture(of: stage)
        outcome.broken = picture.broken
        outcome.digest = picture.digest
        outcome.counts.events = picture.events.count
        outcome.counts.turns = stage.judge.deeds.count
        outcome.counts.requests = picture.requests
        outcome.counts.gaps = stage.log.gaps
    }

    /// Answers what is still asked, second by second, until nobody waits for anything.
    private mutating func comesToRest() throws -> Bool {
        let healed = stage.world.now
        var second = 0
        var unrest: [String] = []
        while healed.duration(to: stage.world.now) < SessionLaw.rest {
            try stage.world.run(for: .seconds(1))
            stage.perform(.answer(second % SessionScript.devices))
            second += 1
            unrest = try stage.unrest()
            if unrest.isEmpty {
                outcome.counts.recovery = healed.duration(to: stage.world.now)
                return true
            }
        }
        outcome.broken.append(
            SessionLaw.Breach(law: .rest, words: "after \(SessionLaw.rest) \(unrest.joined(separator: "; "))"))
        return false
    }
}

extension SessionStage {
    /// What is still going on, in words; empty when everybody is at rest.
    fileprivate func unrest() throws -> [String] {
        guard desk.store != nil else { return ["the daemon does not run"] }
        return try devices.flatMap { device in try unrest(of: device).map { "device \(device.number) \($0)" } }
    }

    private func unrest(of device: SimDevice) throws -> [String] {
        let session = session
        guard let view = try ask(device, { await $0.view }) else { return ["is not there"] }
        guard let attached = view.attached[session] else { return ["is not attached: \(view.phase)"] }
        var words: [String] = []
        if view.phase.readyLink == nil { words.append("has no connection: \(view.phase)") }
        if attached.phase != .live { words.append("is not live: \(attached.phase)") }
        if attached.isRunning { words.append("shows a running turn") }
        if !attached.requests.isEmpty { words.append("shows a question") }
        if !view.isSaving { words.append("says that nothing is saved") }
        let open = view.operations.values.sorted { $0.id < $1.id }
        words += open.map { "has an operation that is \($0.state): \($0.kind) …\($0.id.description.suffix(4))" }
        if !device.shelf.records.operations.isEmpty { words.append("keeps operations") }
        if !device.person.isDone { words.append("has something to say") }
        // A link can be dead without anybody knowing.
        if words.isEmpty, try ask(device, { (try? await $0.ping()) != nil }) != true { words.append("hears nothing") }
        if words.isEmpty, try misses(attached.lastSequence) { words.append("misses events") }
        return words
    }

    private func misses(_ last: SequenceNumber) throws -> Bool {
        guard let store = desk.store else { return true }
        let session = session
        return try !world.run(on: desk.machine) { try await store.events(of: session, after: last, limit: 1).isEmpty }
    }
}
