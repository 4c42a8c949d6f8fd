import MewBase
import Testing

@testable import MewDaemon

@Suite("Wrong pairing codes")
struct GuessLimitsTests {
    private let start = Pairing.start

    @Test("four wrong tries leave a key free, the fifth shuts it out")
    func fifthTryShutsOut() {
        var limits = GuessLimits()
        for number in 1...4 {
            let verdict = limits.wrongCode(by: Pairing.stranger, from: Pairing.source(), now: start)
            #expect(verdict.tries == number && !verdict.shutsOut)
        }
        #expect(!limits.isShutOut(Pairing.stranger))
        #expect(limits.wrongCode(by: Pairing.stranger, from: Pairing.source(), now: start).shutsOut)
        #expect(limits.isShutOut(Pairing.stranger))
        #expect(!limits.isShutOut(Pairing.laptop))
    }

    @Test("five refusals of a source come at once, then one a second, never later than in 30 s")
    func sourceIsSlowed() {
        var limits = GuessLimits()
        let dues = (1...100).map {
            limits.wrongCode(by: Pairing.numberedNode($0), from: Pairing.source(), now: start).refusalDue
        }
        #expect(dues[..<5].allSatisfy { $0 == start })
        #expect(dues[5] == start.plus(.seconds(1)))
        #expect(dues[6] == start.plus(.seconds(2)))
        #expect(dues[99] == start.plus(.seconds(30)))
        let other = limits.wrongCode(by: Pairing.laptop, from: Pairing.source(2), now: start)
        #expect(other.refusalDue == start)
    }

    @Test("a flood of keys neither frees the one that is shut out nor shuts out one that has done nothing")
    func tableIsBounded() {
        var limits = GuessLimits()
        for _ in 1...5 { _ = limits.wrongCode(by: Pairing.stranger, from: Pairing.source(), now: start) }
        for number in 1...200 {
            _ = limits.wrongCode(by: Pairing.numberedNode(number), from: Pairing.source(), now: start)
        }
        #expect(limits.isShutOut(Pairing.stranger))
        #expect(!limits.isShutOut(Pairing.laptop))
        #expect(!limits.isShutOut(Pairing.numberedNode(150)))
    }
}
