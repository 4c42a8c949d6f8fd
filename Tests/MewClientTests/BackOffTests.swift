import MewBase
import MewClient
import Testing

@Suite("Waiting before the next dial")
struct BackOffTests {
    @Test("1, 2, 4, 8, 16, 30, 30 seconds without jitter")
    func steps() {
        var backOff = BackOff()
        let waits = (0..<8).map { _ in backOff.failed(entropy: ConstantEntropy(value: 0)) }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
    }

    @Test("jitter adds at most 499 ms")
    func jitter() {
        for value: UInt64 in [499, 999, 500, .max] {
            var backOff = BackOff()
            #expect(backOff.failed(entropy: ConstantEntropy(value: value)) == .milliseconds(1_000 + value % 500))
        }
    }

    @Test("success starts over, and ten thousand failures do not overflow")
    func reset() {
        var backOff = BackOff()
        for _ in 0..<10_000 { _ = backOff.failed(entropy: ConstantEntropy(value: 0)) }
        #expect(backOff.failures == 10_000)
        backOff.succeeded()
        #expect(backOff.failed(entropy: ConstantEntropy(value: 0)) == .seconds(1))
    }
}
