import MewPath
import Testing

@Suite("Counters against replay")
struct ReplayWindowTests {
    @Test("each counter is taken once, in any order within the window")
    func once() {
        var window = ReplayWindow()
        #expect(window.take(5))
        #expect(window.take(3))
        #expect(!window.take(3))
        #expect(!window.take(5))
        #expect(window.take(4))
        #expect(window.take(6))
        #expect(window.largest == 6)
    }

    @Test("the window is 64 wide: the counter 63 below the largest is taken, the one 64 below is not")
    func edge() {
        var window = ReplayWindow()
        #expect(window.take(100))
        #expect(window.take(37))
        #expect(!window.take(36))
        #expect(!window.take(37))
    }

    @Test("zero is nobody's counter; the largest possible one is taken once")
    func ends() {
        var window = ReplayWindow()
        #expect(!window.take(0))
        #expect(window.take(.max))
        #expect(!window.take(.max))
        #expect(window.take(.max - 63))
        #expect(!window.take(.max - 64))
    }

    @Test("a jump of the whole window forgets what was taken below it")
    func jump() {
        var window = ReplayWindow()
        #expect(window.take(1))
        #expect(window.take(65))
        #expect(!window.take(1))
        #expect(window.take(2))
    }
}
