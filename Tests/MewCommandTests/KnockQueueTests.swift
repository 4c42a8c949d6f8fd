import MewDaemon
import MewIdentity
import MewTestSupport
import Testing

@testable import mew

@Suite("Knocks on the screen")
struct KnockQueueTests {
    private let start = ContinuousClock.now

    private func entry(_ number: Int) -> KnockQueue.Entry {
        KnockQueue.Entry(
            number: KnockNumber(number), node: CoreBench.node(UInt8(number)), name: "phone", digits: "123456")
    }

    @Test("one is asked about at a time, oldest first, and answered as fast as one can")
    func order() {
        var queue = KnockQueue()
        #expect(queue.typed(now: start) == .nothingAsked)
        queue.add(entry(1))
        queue.add(entry(2))
        #expect(queue.nextToShow(now: start) == entry(1))
        #expect(queue.nextToShow(now: start) == nil)
        #expect(queue.typed(now: start) == .answers(entry(1).number))
        #expect(queue.nextToShow(now: start) == entry(2))
        #expect(queue.typed(now: start) == .answers(entry(2).number))
        #expect(queue.typed(now: start) == .nothingAsked)
    }

    @Test("what is typed while one question takes the place of another is an answer to neither")
    func replaced() {
        var queue = KnockQueue()
        queue.add(entry(1))
        queue.add(entry(2))
        _ = queue.nextToShow(now: start)
        let later = start.advanced(by: .seconds(10))
        queue.remove(entry(1).number, now: later)
        _ = queue.nextToShow(now: later)
        #expect(queue.typed(now: later) == .tooEarly)
        #expect(queue.typed(now: later.advanced(by: QuestionDesk.grace - .milliseconds(1))) == .tooEarly)
        #expect(queue.shownEntry == entry(2))
        #expect(queue.typed(now: later.advanced(by: QuestionDesk.grace)) == .answers(entry(2).number))
    }

    @Test("one that left before it was shown is not shown")
    func left() {
        var queue = KnockQueue()
        for number in 1...3 { queue.add(entry(number)) }
        _ = queue.nextToShow(now: start)
        queue.remove(entry(2).number, now: start)
        queue.remove(entry(1).number, now: start)
        #expect(queue.nextToShow(now: start) == entry(3))
    }
}
