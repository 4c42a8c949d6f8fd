internal import MewBase
internal import MewSim
internal import MewWire

/// The laws of a link between two networks (issue 5), from the dial on:
///
/// - the first byte of the application comes within two seconds; where a stream to the relay loses its first packet and then
///   another one, each costs a second before anything is known of the distance (RFC 6298 §2, RFC 9002 §6.2.2), and it comes within three;
/// - the link is direct within ten seconds, or the rule of the cell forbids it: then it never is, and the words name the rule;
/// - when the routers have forgotten everything, data flows again within ten seconds, and directly within a minute;
/// - what was said comes in order and once, and no address gets more than five probes a second, from either side.
package struct GridLaw: Sendable {
    package static let firstByte: Duration = .seconds(2)
    /// After two losses in a row. How seldom that is, is for whoever plays many seeds to judge.
    package static let lateFirstByte: Duration = .seconds(3)
    package static let direct: Duration = .seconds(10)
    package static let recovery: Duration = .seconds(10)
    package static let directAgain: Duration = .seconds(60)

    package struct Outcome: Sendable {
        /// Empty when every law was kept.
        package var broken: [String] = []
        package var firstByte: Duration?
        /// Since the dial; nil when the link has not been direct.
        package var direct: Duration?
        /// Since the routers forgot everything, in the worse direction.
        package var recovery: Duration?
        /// Over everything that was sent, and when.
        package var trace: UInt64 = 0
    }

    package init() {}

    /// - Parameter log: takes what the nodes report.
    package func run(_ cell: GridCell, seed: UInt64, log: (@Sendable (String) -> Void)? = nil) -> Outcome {
        var plan = cell.plan(seed: seed)
        plan.log = log
        do {
            return try withSimStage(seed: seed, plan) { stage in
                var run = GridRun(stage, cell, seed)
                try run.play()
                return run.outcome
            }
        } catch {
            return Outcome(broken: ["\(error)"])
        }
    }
}

/// One cell being played.
private struct GridRun {
    private let stage: SimStage
    private let cell: GridCell
    private let seed: UInt64
    private(set) var outcome = GridLaw.Outcome()

    init(_ stage: SimStage, _ cell: GridCell, _ seed: UInt64) {
        (self.stage, self.cell, self.seed) = (stage, cell, seed)
    }

    private var world: SimWorld { stage.world }
    private var conversation: Conversation { stage.conversation }

    mutating func play() throws {
        let questions = ProbeLaw(stage, .questions)
        let began = world.now
        try stage.dial()
        judgeFirstByte(since: began)
        guard stage.broken == nil else { return outcome.broken.append(stage.broken ?? "") }
        // The dial's other ways end with its deadline.
        try world.run(for: began.advanced(by: .seconds(12)).duration(to: world.now) * -1)
        judgePath(since: began)
        let probes = ProbeLaw(stage)
        // At another moment of whatever repeats itself for each seed.
        try world.run(for: .milliseconds(137 * Int64(seed % 40)))
        try forget()
        try judgeRest()
        outcome.broken += [stage.broken, probes.broken, questions.broken].compactMap { $0 }
        outcome.trace = world.trace.hash
    }

    private mutating func judgeFirstByte(since began: Instant) {
        outcome.firstByte = conversation.toNear.arrived.first.map { began.duration(to: $0) }
        if outcome.firstByte.map({ $0 > GridLaw.lateFirstByte }) ?? true {
            outcome.broken.append("the first byte came after \(outcome.firstByte.map { "\($0)" } ?? "ever")")
        }
    }

    private mutating func judgePath(since began: Instant) {
        let direct = conversation.paths.first { if case .direct = $0.path { true } else { false } }
        outcome.direct = direct.map { began.duration(to: $0.time) }
        guard cell.rule == nil else { return }
        if outcome.direct.map({ $0 > GridLaw.direct }) ?? true {
            let words = conversation.whyNotDirect.map { ": \($0.text)" } ?? ""
            outcome.broken.append("direct after \(outcome.direct.map { "\($0)" } ?? "ever")\(words)")
        }
    }

    /// One router, or all.
    private mutating func forget() throws {
        stage.log("the routers forget")
        let boxes = [stage.nearBox, stage.farBox].compactMap { $0 } + stage.carriers
        for (index, box) in boxes.enumerated() where seed % 3 == 0 || UInt64(index) % 2 == seed % 2 {
            box.forgetMappings()
        }
        outcome.recovery = try stage.recover(from: world.now, within: GridLaw.recovery)
        if outcome.recovery == nil {
            outcome.broken.append("no data for \(GridLaw.recovery) after the routers had forgotten everything")
        }
    }

    private mutating func judgeRest() throws {
        let end = world.now.advanced(by: GridLaw.directAgain)
        guard let rule = cell.rule else {
            while !stage.isDirect, stage.broken == nil, world.now < end { try world.run(for: .milliseconds(500)) }
            if !stage.isDirect {
                let words = conversation.whyNotDirect.map { ": \($0.text)" } ?? ""
                outcome.broken.append("not direct again\(words)")
            }
            return
        }
        try world.run(for: .seconds(20))
        if conversation.paths.contains(where: { if case .direct = $0.path { true } else { false } }) {
            outcome.broken.append("direct, although \(rule.rawValue) forbids it")
        }
        if conversation.whyNotDirect?.code != rule {
            outcome.broken.append("the words are: \(conversation.whyNotDirect.map { "\($0)" } ?? "none")")
        }
    }
}
