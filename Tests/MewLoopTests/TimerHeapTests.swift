import MewBase
import MewSim
import Testing

@testable import MewLoop

@Suite("The timers of one loop")
struct TimerHeapTests {
    private static func at(_ nanoseconds: UInt64) -> Instant { Instant(nanoseconds: nanoseconds) }

    /// Fires everything that is due at `time` and returns what that was, in order.
    private static func fire(_ heap: inout TimerHeap, at time: UInt64, into fired: Box<[Int]>) -> [Int] {
        fired.value = []
        let limit = heap.nextSequence
        while let action = heap.popDue(at: at(time), scheduledBefore: limit) { action() }
        return fired.value
    }

    private static func cancel(_ timer: LoopTimer, in heap: inout TimerHeap) -> Bool { heap.cancel(timer) }

    @Test("fires at its deadline and not a nanosecond earlier")
    func boundary() {
        var heap = TimerHeap()
        let fired = Box<[Int]>([])
        _ = heap.schedule(at: Self.at(100)) { fired.value.append(1) }
        #expect(Self.fire(&heap, at: 99, into: fired) == [])
        #expect(Self.fire(&heap, at: 100, into: fired) == [1])
        #expect(heap.nextDeadline == nil)
    }

    @Test("equal deadlines fire in the order they were scheduled")
    func ties() {
        var heap = TimerHeap()
        let fired = Box<[Int]>([])
        for number in 0..<100 { _ = heap.schedule(at: Self.at(7)) { fired.value.append(number) } }
        #expect(Self.fire(&heap, at: 7, into: fired) == Array(0..<100))
    }

    @Test("a cancelled timer does not fire, and its number never names the next user of its slot")
    func cancelled() {
        var heap = TimerHeap()
        let fired = Box<[Int]>([])
        let first = heap.schedule(at: Self.at(5)) { fired.value.append(1) }
        #expect(Self.cancel(first, in: &heap))
        let second = heap.schedule(at: Self.at(5)) { fired.value.append(2) }
        #expect(!Self.cancel(first, in: &heap))
        #expect(first != second)
        #expect(Self.fire(&heap, at: 5, into: fired) == [2])
        #expect(!Self.cancel(second, in: &heap))
    }

    @Test("what an action schedules for now waits for the next turn")
    func noEndlessTurn() {
        var heap = TimerHeap()
        _ = heap.schedule(at: Self.at(1)) {}
        let limit = heap.nextSequence
        _ = heap.schedule(at: Self.at(0)) {}
        let early = heap.popDue(at: Self.at(9), scheduledBefore: limit)
        #expect(early == nil)
        let late = heap.popDue(at: Self.at(9), scheduledBefore: heap.nextSequence)
        #expect(late != nil)
    }

    @Test("agrees with a sorted list over 20,000 random operations")
    func model() {
        var heap = TimerHeap()
        var random = SeededGenerator(seed: 1)
        var model: [(deadline: UInt64, order: Int, timer: LoopTimer)] = []
        let fired = Box<[Int]>([])
        for order in 0..<20_000 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0 where !model.isEmpty:
                let victim = model.remove(at: Int.random(in: 0..<model.count, using: &random))
                #expect(Self.cancel(victim.timer, in: &heap))
            case 1:
                let time = UInt64.random(in: 0..<1000, using: &random)
                let due = model.filter { $0.deadline <= time }.sorted {
                    ($0.deadline, $0.order) < ($1.deadline, $1.order)
                }
                model.removeAll { $0.deadline <= time }
                #expect(Self.fire(&heap, at: time, into: fired) == due.map(\.order))
            default:
                let deadline = UInt64.random(in: 0..<1000, using: &random)
                let timer = heap.schedule(at: Self.at(deadline)) { fired.value.append(order) }
                model.append((deadline, order, timer))
            }
            #expect(heap.count == model.count)
            #expect(heap.nextDeadline?.nanoseconds == model.map(\.deadline).min())
        }
    }
}
