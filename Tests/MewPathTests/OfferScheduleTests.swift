import MewBase
import Testing

@testable import MewPath

@Suite("When a dialler offers its addresses")
struct OfferScheduleTests {
    private let start = Instant(nanoseconds: 100_000_000_000)

    private func at(_ milliseconds: Int64) -> Instant { start.advanced(by: .milliseconds(milliseconds)) }

    /// Those of the next five seconds.
    private func times(_ schedule: inout OfferSchedule, from first: Int64 = 0) -> [Int64] {
        var times: [Int64] = []
        for time in first...(first + 5_000) where schedule.isDue(now: at(time)) { times.append(time) }
        return times
    }

    @Test("an offer leaves as soon as our addresses are known, and again after 300 and 900 ms without an answer")
    func series() {
        var schedule = OfferSchedule()
        let gathers = schedule.begin(now: start)
        #expect(gathers)
        #expect(schedule.isDue(now: at(49)) == false)
        schedule.gathered(isNews: true, now: at(50))
        #expect(times(&schedule) == [50, 350, 950])
        #expect(schedule.deadline == .distantFuture)
    }

    @Test(
        "nobody waits longer than 300 ms for what the outside says; when that comes later and is news, it is told as well"
    )
    func late() {
        var schedule = OfferSchedule()
        _ = schedule.begin(now: start)
        #expect(schedule.isDue(now: at(299)) == false)
        #expect(schedule.isDue(now: at(300)) == true)
        schedule.answered()
        schedule.gathered(isNews: false, now: at(500))
        #expect(schedule.deadline == .distantFuture)
        schedule.gathered(isNews: true, now: at(600))
        #expect(schedule.isDue(now: at(600)) == true)
    }

    @Test("an answer ends a series, and so does another way")
    func ends() {
        for isAnswered in [true, false] {
            var schedule = OfferSchedule()
            _ = schedule.begin(now: start)
            schedule.gathered(isNews: true, now: start)
            #expect(schedule.isDue(now: start) == true)
            if isAnswered { schedule.answered() } else { schedule.stop() }
            #expect(schedule.deadline == .distantFuture)
        }
    }

    @Test("a try that begins while the addresses are gathered waits for the same")
    func gathering() {
        var schedule = OfferSchedule()
        _ = schedule.begin(now: start)
        let again = schedule.begin(now: at(10))
        #expect(!again)
    }

    @Test(
        "a peer that never answers is told three times at each of three tries, then once; after an answer three times again"
    )
    func unanswered() {
        var schedule = OfferSchedule()
        var counts: [Int] = []
        for round in Int64(0)..<7 {
            if round == 5 { schedule.answered() }
            _ = schedule.begin(now: at(round * 10_000))
            schedule.gathered(isNews: false, now: at(round * 10_000))
            counts.append(times(&schedule, from: round * 10_000).count)
        }
        #expect(counts == [3, 3, 3, 1, 1, 3, 3])
    }

    @Test("a call is put down to an offer for less than five seconds")
    func replies() {
        var schedule = OfferSchedule()
        #expect(schedule.isAnswered(now: start) == false)
        _ = schedule.begin(now: start)
        schedule.gathered(isNews: true, now: start)
        _ = schedule.isDue(now: start)
        schedule.answered()
        #expect(schedule.isAnswered(now: at(4_999)))
        #expect(schedule.isAnswered(now: at(5_000)) == false)
    }
}
