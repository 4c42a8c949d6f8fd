import Testing

@testable import mew

@Suite("Whether a command on the screen has its daemon")
struct ReachTests {
    @Test("the timer of a loss that is over does not end the command during the next one")
    func losses() {
        var reach = Reach()
        let first = reach.lost()
        let again = reach.lost()
        #expect(first == 1 && again == nil, "it is lost already")
        #expect(!reach.isThere && reach.isLost(since: 1))
        let wasLost = reach.back()
        #expect(wasLost && reach.isThere && !reach.isLost(since: 1))
        let second = reach.lost()
        #expect(second == 2 && reach.isLost(since: 2))
        #expect(!reach.isLost(since: 1), "five minutes after the first loss, one second after the second")
    }
}
