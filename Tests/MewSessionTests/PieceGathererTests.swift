import MewBase
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Testing

@Suite("pieces of streaming text are gathered for 16 ms")
struct PieceGathererTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func text(_ part: UInt64, _ text: String, field: String = "text") -> AgentEvent {
        .provider(.partDelta(.init(partID: PartID(ULID(high: 1, low: part)), field: field, delta: text)))
    }

    /// `part field text`, `call text`, or `other`.
    private func words(_ events: [AgentEvent]) -> [String] {
        events.map { event in
            switch event {
            case .provider(.partDelta(let delta)): "\(delta.partID.ulid.low) \(delta.field) \(delta.delta)"
            case .toolProgress(let call, let chunk): "\(call.text) \(chunk)"
            default: "other"
            }
        }
    }

    @Test("the first piece is told at once; those of the next 16 ms are one, told then and not before")
    func time() {
        var gatherer = PieceGatherer()
        #expect(words(gatherer.add(text(1, "a"), now: start)) == ["1 text a"])
        #expect(gatherer.nextDeadline == nil)
        #expect(words(gatherer.add(text(1, "b"), now: start.advanced(by: .milliseconds(1)))).isEmpty)
        #expect(words(gatherer.add(text(1, "c"), now: start.advanced(by: .milliseconds(15)))).isEmpty)
        #expect(gatherer.nextDeadline == start.advanced(by: .milliseconds(16)))
        #expect(words(gatherer.due(now: start.advanced(by: .microseconds(15_999)))).isEmpty)
        #expect(words(gatherer.due(now: start.advanced(by: .milliseconds(16)))) == ["1 text bc"])
        #expect(gatherer.isEmpty)
        #expect(words(gatherer.add(text(1, "d"), now: start.advanced(by: .microseconds(31_999)))).isEmpty)
        #expect(words(gatherer.due(now: start.advanced(by: .milliseconds(32)))) == ["1 text d"])
        #expect(words(gatherer.add(text(1, "e"), now: start.advanced(by: .milliseconds(48)))) == ["1 text e"])
    }

    @Test("what waits longer than that, because the disk is behind, is gathered on")
    func late() {
        var gatherer = PieceGatherer()
        _ = gatherer.add(text(1, "a"), now: start)
        _ = gatherer.add(text(1, "b"), now: start)
        let later = start.advanced(by: .seconds(5))
        #expect(gatherer.add(text(1, "c"), now: later).isEmpty)
        #expect(words(gatherer.due(now: later)) == ["1 text bc"])
    }

    @Test("another part, field or call, and whatever is no piece, sends on what was gathered")
    func targets() {
        let events: [(AgentEvent, [String])] = [
            (text(1, "a"), ["1 text a"]), (text(1, "b"), []), (text(2, "c"), ["1 text b", "2 text c"]),
            (text(2, "d", field: "arguments"), ["2 arguments d"]), (.toolProgress("x", chunk: "e"), ["x e"]),
            (.toolProgress("x", chunk: "f"), []), (.toolProgress("x", chunk: "g"), []),
            (.toolProgress("y", chunk: "h"), ["x fg", "y h"]), (.toolProgress("y", chunk: "i"), []),
            (.notice("n"), ["y i", "other"]), (.notice("n"), ["other"]), (.toolProgress("y", chunk: "j"), ["y j"]),
            (text(1, "k"), ["1 text k"]), (text(1, "l"), []),
            (text(1, "s", field: "signature"), ["1 text l", "1 signature s"]),
        ]
        var gatherer = PieceGatherer()
        for (event, told) in events { #expect(words(gatherer.add(event, now: start)) == told) }
        #expect(words(gatherer.flush()).isEmpty)
    }

    @Test("64 KiB are gathered; one byte more begins the next; a larger piece is not kept")
    func size() {
        let half = String(repeating: "x", count: PieceGatherer.maxBytes / 2)
        var gatherer = PieceGatherer()
        _ = gatherer.add(text(1, "w"), now: start)
        #expect(gatherer.add(text(1, half), now: start).isEmpty)
        #expect(gatherer.add(text(1, half), now: start).isEmpty)
        #expect(words(gatherer.add(text(1, "y"), now: start)) == ["1 text " + half + half])
        let large = half + half + "x"
        #expect(words(gatherer.add(text(1, large), now: start)) == ["1 text y", "1 text " + large])
        #expect(gatherer.isEmpty)
    }

    @Test("2,000 random streams: each text is told whole and in order, and nothing waits longer than 16 ms")
    func property() {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var gatherer = PieceGatherer()
            var now = start
            var since: Instant?
            var (said, told) = ("", "")
            for number in 0..<40 {
                now = now.advanced(by: .milliseconds(Int64(random.below(12))))
                told += words(gatherer.due(now: now)).map { String($0.drop { $0 != "<" }) }.joined()
                if gatherer.isEmpty { since = nil }
                let piece = "<\(number)>"
                let event: AgentEvent =
                    switch random.below(6) {
                    case 0: .notice("n")
                    case 1: .toolProgress("c", chunk: piece)
                    case 2: text(2, piece)
                    default: text(1, piece)
                    }
                if case .notice = event {} else { said += piece }
                let events = gatherer.add(event, now: now)
                told += words(events).map { String($0.drop { $0 != "<" }) }.joined()
                if !events.isEmpty { since = nil }
                if !gatherer.isEmpty { since = since ?? now }
                let isLate = since.map { $0.advanced(by: .milliseconds(16)) < now } ?? false
                if isLate { Issue.record("seed \(seed): a piece waits since \(String(describing: since))") }
            }
            told += words(gatherer.flush()).map { String($0.drop { $0 != "<" }) }.joined()
            if told != said { Issue.record("seed \(seed): \(told) instead of \(said)") }
        }
    }
}
