import MewBase
import Testing

@Suite("Warnings of what fails again and again")
struct RepeatedWarningTests {
    private let start = Instant(nanoseconds: 1_000)

    @Test("a reason is said once, another one at once, and the same one again after 10 minutes")
    func repeats() {
        var warning = RepeatedWarning()
        let end = start.advanced(by: .seconds(600))
        let said = [
            warning.isDue("a", now: start), warning.isDue("a", now: start), warning.isDue("b", now: start),
            warning.isDue("a", now: end.advanced(by: .nanoseconds(-1))), warning.isDue("a", now: end),
        ]
        #expect(said == [true, false, true, false, true])
    }

    @Test("eight reasons are remembered; the ninth takes the place of the first")
    func bound() {
        var warning = RepeatedWarning()
        let first = (0..<8).map { warning.isDue("\($0)", now: start) }
        #expect(first.allSatisfy { $0 })
        let then = ["0", "8", "0"].map { warning.isDue($0, now: start) }
        #expect(then == [false, true, true])
    }
}
