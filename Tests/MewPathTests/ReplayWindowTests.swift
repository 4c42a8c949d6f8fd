import MewPath
import Testing

@Suite("Counters against replay")
struct ReplayWindowTests {
    /// What a new window says to these counters, one after the other.
    private func verdicts(_ counters: [UInt64]) -> [Bool] {
        var window = ReplayWindow()
        return counters.map { window.take($0) }
    }

    @Test("each counter is taken once, in any order within the window")
    func once() {
        #expect(verdicts([5, 3, 3, 5, 4, 6]) == [true, true, false, false, true, true])
    }

    @Test("the window is 64 wide: the counter 63 below the largest is taken, the one 64 below is not")
    func edge() {
        #expect(verdicts([100, 37, 36, 37]) == [true, true, false, false])
    }

    @Test("zero is nobody's counter; the largest possible one is taken once")
    func ends() {
        #expect(verdicts([0, .max, .max, .max - 63, .max - 64]) == [false, true, false, true, false])
    }

    @Test("a jump of the whole window forgets what was taken below it")
    func jump() {
        #expect(verdicts([1, 65, 1, 2]) == [true, true, false, true])
    }
}
