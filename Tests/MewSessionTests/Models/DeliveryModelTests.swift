import MewBase
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

// A journal that grows, and a client behind a bounded queue that reads when it likes, is told of gaps and goes on. The model of the
// journal is an array. Laws: a replay is what the array has behind the number, or there is none for a reason; the client's events
// follow each other, except across a snapshot; when it has read everything it has everything; the queue keeps its bounds.

@Suite("journal and queue against a model, at random")
struct DeliveryModelTests {
    /// Frames are told apart by their size, so that nothing is copied.
    fileprivate static let bodies: [[UInt8]] = (0..<61).map { [UInt8](repeating: 7, count: 100 + $0 * 3_001) }

    @Test("200 journals: what is replayed is what the array has, and nothing is refused that should be kept")
    func replay() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let epoch = Epoch(ULID(high: 1, low: 1))
            var journal = Journal(epoch: epoch)
            var model: [[UInt8]] = []
            // Many small events or fewer large ones, so that either bound is met.
            let kinds = random.below(2) == 0 ? 1 : Self.bodies.count
            for _ in 0..<random.below(kinds == 1 ? 5_000 : 300) {
                let body = Self.bodies[Int(random.below(UInt64(kinds)))]
                if journal.append(body).sequence.rawValue != UInt64(model.count + 1) {
                    Issue.record("seed \(seed): a hole")
                }
                model.append(body)
            }
            for _ in 0..<20 {
                let after = random.below(UInt64(model.count) + 10)
                let isSame = random.below(8) > 0
                let asked = isSame ? epoch : Epoch(ULID(high: 1, low: 2))
                let replay = journal.replay(after: SequenceNumber(after), epoch: asked)
                let missing = after <= UInt64(model.count) ? Array(model[Int(after)...]) : []
                let isDue =
                    isSame && after <= UInt64(model.count) && missing.count <= Journal.maxReplayEvents
                    && missing.reduce(0, { $0 + $1.count }) <= Journal.maxReplayBytes
                if (replay != nil) != isDue { Issue.record("seed \(seed): a replay after \(after) of \(model.count)") }
                if let replay, Array(replay) != missing { Issue.record("seed \(seed): another replay after \(after)") }
            }
        }
    }

    @Test("500 clients that read when they like get every event in order, or a snapshot, and end with everything")
    func queue() {
        var (gaps, snapshots) = (0, 0)
        for seed in 0..<500 as Range<UInt64> {
            var run = DeliveryRun(seed: seed)
            for _ in 0..<300 { run.step() }
            run.finish()
            guard run.broken.isEmpty else {
                Issue.record("seed \(seed): \(run.broken)")
                return
            }
            (gaps, snapshots) = (gaps + run.gaps, snapshots + run.snapshots)
        }
        #expect(gaps > 100 && snapshots > 20, "\(gaps) gaps, \(snapshots) snapshots")
    }
}

private struct DeliveryRun {
    private enum Frame: Equatable {
        case event(SequenceNumber)
        case snapshot(upTo: SequenceNumber)
        case gap(after: SequenceNumber)
        case reply
    }

    private var random: SeededGenerator
    private var journal = Journal(epoch: Epoch(ULID(high: 1, low: 1)))
    private var queue = ClientQueue()
    /// What is in the queue, beside it: the frames themselves are only sizes.
    private var inside: [Frame] = []
    private var bytes: [Int] = []
    /// The last event that the client has.
    private var has = SequenceNumber.zero
    private var mustResume = false
    private(set) var gaps = 0
    private(set) var snapshots = 0
    private(set) var broken: [String] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    mutating func step() {
        switch random.below(12) {
        case 0...5: for _ in 0..<(1 + random.below(8)) { append() }
        case 6: push(DeliveryModelTests.bodies[0], .reply, .reply)
        case 7 where mustResume && random.below(3) == 0: resume()
        default: for _ in 0..<random.below(6) { read() }
        }
        if queue.bytes != bytes.reduce(0, +) { broken.append("bytes are counted wrongly") }
        if queue.count != inside.count { broken.append("frames are counted wrongly") }
        let stream = zip(inside, bytes).filter { $0.0 != .reply }.map(\.1)
        if stream.count > 1, stream.reduce(0, +) > ClientQueue.maxBytes + (1 << 20) { broken.append("too much waits") }
    }

    mutating func finish() {
        for _ in 0..<20_000 {
            if !inside.isEmpty { read() } else if mustResume { resume() } else { break }
        }
        if has != journal.head { broken.append("it has \(has) of \(journal.head)") }
        if queue.isSilent { broken.append("it is silent for ever") }
    }

    private mutating func append() {
        let body = DeliveryModelTests.bodies[Int(random.below(UInt64(DeliveryModelTests.bodies.count)))]
        let event = journal.append(body)
        push(body, .stream(upTo: event.sequence), .event(event.sequence))
    }

    private mutating func push(_ body: [UInt8], _ kind: ClientQueue.Kind, _ frame: Frame) {
        switch queue.push(body, kind) {
        case .queued:
            inside.append(frame)
            bytes.append(body.count)
        case .silent: break
        case .overflowed(let after): tellGap(after)
        }
    }

    private mutating func tellGap(_ after: SequenceNumber) {
        gaps += 1
        let kept = zip(inside, bytes).filter { Self.isReply($0.0) }
        (inside, bytes) = (kept.map(\.0), kept.map(\.1))
        push(DeliveryModelTests.bodies[1], .reply, .gap(after: after))
    }

    private static func isReply(_ frame: Frame) -> Bool {
        switch frame {
        case .reply, .gap: true
        case .event, .snapshot: false
        }
    }

    private mutating func read() {
        guard let frame = queue.pop() else { return }
        guard !inside.isEmpty, frame.count == bytes.removeFirst() else { return broken.append("another frame came") }
        switch inside.removeFirst() {
        case .event(let sequence):
            if sequence != has.next { broken.append("\(sequence) follows \(has)") }
            has = sequence
        case .snapshot(let upTo): has = upTo
        case .gap(let after):
            if after > has { broken.append("a gap after \(after), and it has \(has)") }
            mustResume = true
        case .reply: break
        }
    }

    private mutating func resume() {
        mustResume = false
        queue.resume()
        guard let events = journal.replay(after: has, epoch: journal.epoch) else {
            snapshots += 1
            return push(DeliveryModelTests.bodies[2], .stream(upTo: journal.head), .snapshot(upTo: journal.head))
        }
        var sequence = has
        for event in events where !queue.isSilent {
            sequence = sequence.next
            push(event, .stream(upTo: sequence), .event(sequence))
        }
    }
}
