import Testing

@testable import MewDaemon

@Suite("UTC time")
struct UTCTimeTests {
    @Test(
        "known moments",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (1_757_500_000_000, "2025-09-10T10:26:40.000Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] as [(UInt64, String)])
    func knownMoments(milliseconds: UInt64, text: String) {
        #expect(UTCTime(milliseconds: milliseconds).description == text)
    }

    @Test("a wrong clock far in the future does not trap")
    func farFuture() {
        #expect(UTCTime(milliseconds: .max).year > 9_999)
    }
}
