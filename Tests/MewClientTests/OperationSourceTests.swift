import MewBase
import MewClient
import Testing

@Suite("Operation IDs")
struct OperationSourceTests {
    @Test("they only go up, also when the clock stands still or goes back")
    func increases() {
        var source = OperationSource(last: nil)
        let entropy = SeededEntropy(seed: 1)
        var last = source.next(wallMilliseconds: 1_000, entropy: entropy)
        for wall: UInt64 in [1_000, 1_000, 500, 0, 1_001, 1_000] {
            let next = source.next(wallMilliseconds: wall, entropy: entropy)
            #expect(next > last)
            last = next
        }
        #expect(last.milliseconds == 1_001, "the clock only ever pushes the time forward")
    }

    @Test("the last one of an earlier process is never reached again")
    func resumes() {
        let kept = ULID(high: 5_000 << 16 | 0xffff, low: .max)
        var source = OperationSource(last: kept)
        #expect(source.next(wallMilliseconds: 10, entropy: SeededEntropy(seed: 2)) == kept.successor)
    }
}
