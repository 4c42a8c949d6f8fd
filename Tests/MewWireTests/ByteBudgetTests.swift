import MewWire
import Testing

@Suite("A budget of bytes")
struct ByteBudgetTests {
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
