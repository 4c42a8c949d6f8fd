import MewBase
import Testing

@testable import MewLoop

@Suite("Sleep of the machine", .timeLimit(.minutes(10)))
struct SleepTests {
    @Test("two seconds between the clocks are a sleep, a nanosecond less is none")
    func boundary() {
        var detector = SleepDetector(boot: 500, awake: 100)
        let almost = detector.observe(boot: 500 + 5_000_000_000, awake: 100 + 3_000_000_001)
        #expect(almost == nil)
        let slept = detector.observe(boot: 500 + 5_000_000_000, awake: 100 + 3_000_000_000)
        #expect(slept == .seconds(2))
        let again = detector.observe(boot: 500 + 6_000_000_000, awake: 100 + 4_000_000_000)
        #expect(again == nil)
    }

    @Test("a wait of a second or more is backed by a timer that sleep does not stop, a shorter one is not")
    func armed() async throws {
        try await withLoop { loop in
            try await loop.run {
                let start = loop.now
                let far = start.advanced(by: .seconds(3_600))
                _ = loop.schedule(at: far) {}
                let near = loop.schedule(at: start.advanced(by: .milliseconds(500))) {}
                #expect((0...500_000_000).contains(loop.waitNanoseconds()))
                #expect(loop.armedDeadline == .distantFuture)
                loop.cancel(near)
                #expect(loop.waitNanoseconds() > 3_000_000_000_000)
                #expect(loop.armedDeadline == far)
            }
        }
    }
}
