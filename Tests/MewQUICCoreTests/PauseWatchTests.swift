import MewBase
import Testing

@testable import MewQUICCore

@Suite("When a peer that pauses is asked")
struct PauseWatchTests {
    private static func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: 1_000_000_000).advanced(by: .milliseconds(milliseconds))
    }

    private static func watch() -> PauseWatch { PauseWatch(first: .seconds(1), usual: .seconds(8)) }

    @Test("after 1 s, then after 2 s and 4 s more, then as usual; a packet that leaves earlier is no question")
    func doubles() {
        var watch = Self.watch()
        #expect(watch.peerSaid(at: Self.at(0)) == .seconds(1))
        #expect(watch.peerSaid(at: Self.at(10)) == nil, "it waits so long already")
        #expect(watch.sent(at: Self.at(1_009)) == nil)
        #expect(watch.sent(at: Self.at(1_010)) == .seconds(2))
        #expect(watch.sent(at: Self.at(3_009)) == nil)
        #expect(watch.sent(at: Self.at(3_010)) == .seconds(4))
        #expect(watch.sent(at: Self.at(7_010)) == .seconds(8))
        #expect(watch.sent(at: Self.at(100_000)) == nil)
        #expect(watch.peerSaid(at: Self.at(100_001)) == .seconds(1))
    }

    @Test("a peer that has never said anything is asked as usual only")
    func silentFromTheStart() {
        var watch = Self.watch()
        #expect(watch.sent(at: Self.at(0)) == nil)
        #expect(watch.sent(at: Self.at(60_000)) == nil)
    }

    @Test("what must be asked soon is asked at once, and then as after a pause")
    func soon() {
        var watch = Self.watch()
        #expect(watch.ask() == .nanoseconds(1))
        #expect(watch.sent(at: Self.at(0)) == .seconds(2))
    }
}
