import MewBase
import MewWire
import Testing

@testable import MewLookup

private let start = Instant(nanoseconds: 1_000_000_000_000)

@Suite("When a record is published")
struct PublicationPlanTests {
    private let a: RelayURL
    private let b: RelayURL

    init() throws {
        a = try RelayURL("http://a.test/")
        b = try RelayURL("http://b.test/")
    }

    private func at(_ after: Duration) -> Instant { start.advanced(by: after) }

    @Test("nothing before there is a record; then at every relay at once, and once")
    func change() {
        var plan = PublicationPlan([a, b])
        plan.connected(a, now: start)
        #expect(plan.take(now: start).isEmpty)
        plan.changed(now: start)
        #expect(plan.take(now: start) == [a, b])
        #expect(plan.take(now: start).isEmpty)
    }

    @Test("a record that is there is refreshed after a quarter of an hour, and not before")
    func refresh() {
        var plan = PublicationPlan([a])
        plan.changed(now: start)
        _ = plan.take(now: start)
        plan.ended(a, nil, now: at(.seconds(1)))
        #expect(plan.states[a] == .published(at: at(.seconds(1))))
        let due = at(PublicationPlan.refresh)
        #expect(plan.nextDeadline == due)
        #expect(plan.take(now: Instant(nanoseconds: due.nanoseconds - 1)).isEmpty)
        #expect(plan.take(now: due) == [a])
    }

    @Test("a relay that comes back is told at once: it may have forgotten")
    func reconnected() {
        var plan = PublicationPlan([a, b])
        plan.changed(now: start)
        _ = plan.take(now: start)
        for url in [a, b] { plan.ended(url, nil, now: start) }
        plan.connected(b, now: at(.seconds(5)))
        #expect(plan.take(now: at(.seconds(5))) == [b])
    }

    @Test("a failure is tried again after a second, then two, then four, at most five minutes")
    func failures() {
        var plan = PublicationPlan([a])
        plan.changed(now: start)
        var now = start
        for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            #expect(plan.take(now: now) == [a])
            plan.ended(a, .timedOut, now: now)
            let due = now.advanced(by: .seconds(wait))
            #expect(plan.nextDeadline == due)
            now = due
        }
        _ = plan.take(now: now)
        plan.ended(a, nil, now: now)
        plan.changed(now: now)
        _ = plan.take(now: now)
        plan.ended(a, .timedOut, now: now)
        #expect(plan.nextDeadline == now.advanced(by: .seconds(1)), "a success forgets the failures")
    }

    @Test("a relay that keeps no records is not pressed")
    func keepsNone() {
        var plan = PublicationPlan([a])
        plan.changed(now: start)
        _ = plan.take(now: start)
        plan.ended(a, .status(404), now: start)
        #expect(plan.states[a] == .keepsNone)
        #expect(plan.nextDeadline == at(PublicationPlan.refresh))
    }

    @Test("what changes while a record is under way is published right after it")
    func changeUnderWay() {
        var plan = PublicationPlan([a])
        plan.changed(now: start)
        _ = plan.take(now: start)
        plan.changed(now: at(.seconds(1)))
        #expect(plan.take(now: at(.seconds(1))).isEmpty)
        plan.ended(a, nil, now: at(.seconds(2)))
        #expect(plan.take(now: at(.seconds(2))) == [a])
    }
}
