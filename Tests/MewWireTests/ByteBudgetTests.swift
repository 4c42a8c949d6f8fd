import MewWire
import Testing

@Suite("A budget of bytes")
struct ByteBudgetTests {
    @Test("what a part holds is held in the whole, too; neither takes what the other has no room for")
    func nested() {
        let whole = ByteBudget(maxBytes: 10)
        let (one, two) = (ByteBudget(maxBytes: 7, within: whole), ByteBudget(maxBytes: 7, within: whole))
        let (first, second) = (one.share(), two.share())
        #expect(first.hold(7))
        #expect(!first.hold(8))
        #expect(!second.hold(4))
        #expect(two.usedBytes == 0)
        #expect(second.hold(3))
        #expect(whole.usedBytes == 10)
        #expect(second.hold(5, mayExceed: true))
        #expect(whole.usedBytes == 12)
        #expect(first.hold(1) && !first.hold(7))
        #expect((one.usedBytes, two.usedBytes, whole.usedBytes) == (1, 5, 6))
    }

    @Test("holders share it; what is beyond it is not taken, growing or new, and less always is")
    func bound() {
        let budget = ByteBudget(maxBytes: 10)
        let (one, other) = (budget.share(), budget.share())
        #expect(one.hold(6))
        #expect(!other.hold(5))
        #expect(budget.usedBytes == 6)
        #expect(other.hold(4))
        #expect(!one.hold(7))
        #expect(one.hold(5))
        #expect(budget.usedBytes == 9)
        #expect(other.hold(50, mayExceed: true))
        #expect(!one.hold(6) && one.hold(5) && one.hold(1))
        #expect(budget.usedBytes == 51)
    }

    @Test("a share gives back what it held when it goes")
    func givesBack() {
        let budget = ByteBudget(maxBytes: 10)
        do {
            let share = budget.share()
            #expect(share.hold(10))
        }
        #expect(budget.usedBytes == 0)
    }
}
