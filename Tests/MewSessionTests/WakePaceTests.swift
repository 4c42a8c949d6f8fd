import MewBase
import MewSession
import Testing

@Suite("When those who hear a session are woken")
struct WakePaceTests {
    private static func time(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("at once after a rest, and while it tells much once in a rest; never when nothing was told")
    func pace() {
        var pace = WakePace()
        #expect(pace.due(now: Self.time(10)) == nil)
        pace.told(bytes: 100)
        #expect(pace.due(now: Self.time(10)) == Self.time(10))
        pace.woke(now: Self.time(10))
        #expect(pace.due(now: Self.time(11)) == nil)
        pace.told(bytes: 100)
        #expect(pace.due(now: Self.time(11)) == Self.time(14))
        pace.told(bytes: 100)
        #expect(pace.due(now: Self.time(13)) == Self.time(14))
        // Woken late: the loop was busy.
        #expect(pace.due(now: Self.time(20)) == Self.time(20))
        pace.woke(now: Self.time(20))
        // Much at once would fill the queue of a client that reads.
        pace.told(bytes: WakePace.maxBytes)
        #expect(pace.due(now: Self.time(21)) == Self.time(21))
        pace.woke(now: Self.time(21))
        pace.told(bytes: 100)
        #expect(pace.due(now: Self.time(30)) == Self.time(30))
    }
}
