import MewBase
import MewTestSupport
import Testing

@testable import MewPath

@Suite("When a listener calls")
struct CallScheduleTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)

    private static func at(_ milliseconds: Int64) -> Instant { start.advanced(by: .milliseconds(milliseconds)) }

    private static func silent(since milliseconds: Int64 = 0, timeout: Int64 = 100) -> CallSchedule.Sample {
        .init(silentSince: at(milliseconds), probeTimeout: .milliseconds(timeout))
    }

    private static let calm = CallSchedule.Sample(silentSince: nil, probeTimeout: .milliseconds(100))

    @Test(
        "it calls after two probe time-outs of silence, at least half a second and at most two seconds",
        arguments: [(100, 500), (250, 500), (251, 502), (700, 1_400), (1_000, 2_000), (3_000, 2_000)]
            as [(Int64, Int64)])
    func patience(_ timeout: Int64, _ limit: Int64) {
        var schedule = CallSchedule()
        let before = schedule.look(Self.silent(timeout: timeout), now: Self.at(limit - 1))
        #expect(!before)
        #expect(schedule.deadline == Self.at(limit))
        let then = schedule.look(Self.silent(timeout: timeout), now: Self.at(limit))
        #expect(then)
        #expect(schedule.isUnheard)
    }

    @Test("it repeats a call with pauses that double from 250 ms to 4 s, as long as nothing is heard")
    func repeats() {
        var schedule = CallSchedule()
        _ = schedule.look(Self.silent(), now: Self.at(500))
        var calls: [Int64] = []
        for now in stride(from: Int64(501), through: 20_000, by: 1)
        where schedule.look(Self.silent(), now: Self.at(now)) { calls.append(now) }
        #expect(calls == [750, 1_250, 2_250, 4_250, 8_250, 12_250, 16_250])
    }

    @Test("a packet of the peer ends the waiting and the calling")
    func heard() {
        var schedule = CallSchedule()
        _ = schedule.look(Self.silent(), now: Self.at(100))
        #expect(!schedule.isQuiet)
        schedule.heard()
        #expect(schedule.isQuiet)
        _ = schedule.look(Self.silent(), now: Self.at(500))
        schedule.heard()
        #expect(schedule.isQuiet)
        #expect(schedule.deadline == .distantFuture)
    }

    @Test("a listener that has moved and is heard by another way goes on telling where it is, until that is answered")
    func newsAfterAll() {
        var schedule = CallSchedule()
        let first = schedule.moved(isLost: true, now: Self.at(0))
        #expect(first && schedule.isUnheard)
        schedule.heard()
        #expect(schedule.isCalling && !schedule.isUnheard)
        let second = schedule.look(Self.calm, now: Self.at(250))
        #expect(second)
        schedule.answered(now: Self.at(300))
        #expect(schedule.isQuiet)
        _ = schedule.look(Self.silent(since: 1_000), now: Self.at(1_500))
        schedule.heard()
        #expect(schedule.isQuiet)
    }

    @Test("an answer to a call that the peer is not heard gives it 1.5 s to move, then it is called again")
    func answered() {
        var schedule = CallSchedule()
        _ = schedule.look(Self.silent(), now: Self.at(500))
        schedule.answered(now: Self.at(600))
        let before = schedule.look(Self.silent(), now: Self.at(2_099))
        let then = schedule.look(Self.silent(), now: Self.at(2_100))
        #expect(!before)
        #expect(then)
    }

    @Test("news alone is called at once and ends with the answer, not with a packet")
    func news() {
        var schedule = CallSchedule()
        let calls = schedule.moved(isLost: false, now: Self.at(0))
        #expect(calls)
        #expect(!schedule.isUnheard)
        schedule.heard()
        #expect(!schedule.isQuiet)
        schedule.answered(now: Self.at(10))
        #expect(schedule.isQuiet)
    }

    @Test("news that nobody answers is called ten times")
    func newsUnanswered() {
        var schedule = CallSchedule()
        var calls = schedule.moved(isLost: false, now: Self.at(0)) ? 1 : 0
        for now in stride(from: Int64(0), through: 120_000, by: 10)
        where schedule.look(Self.calm, now: Self.at(now)) { calls += 1 }
        #expect(calls == CallSchedule.maxAttempts)
        #expect(schedule.isQuiet)
    }

    @Test("a lost way is called as unheard, and later news do not make it less")
    func lost() {
        var schedule = CallSchedule()
        _ = schedule.moved(isLost: true, now: Self.at(0))
        #expect(schedule.isUnheard)
        let again = schedule.moved(isLost: false, now: Self.at(300))
        #expect(again)
        #expect(schedule.isUnheard)
        #expect(schedule.deadline == Self.at(550))
    }

    @Test("news that follow each other are one call every 250 ms, and the last of them is not lost")
    func storm() {
        var schedule = CallSchedule()
        var calls: [Int64] = []
        for now in stride(from: Int64(0), through: 1_000, by: 10) {
            let isNews = now % 40 == 0 && now <= 600
            if isNews, schedule.moved(isLost: false, now: Self.at(now)) { calls.append(now) }
            if schedule.look(Self.calm, now: Self.at(now)) { calls.append(now) }
            if calls.last == now - 20 { schedule.answered(now: Self.at(now)) }
        }
        #expect(calls == [0, 250, 500, 750])
    }

    @Test("whatever happens, in whatever order, calls are at least 250 ms apart", arguments: 0..<50 as Range<UInt64>)
    func apart(_ seed: UInt64) {
        var random = SplitMix64(state: seed)
        var schedule = CallSchedule()
        var (now, last): (Int64, Int64?) = (0, nil)
        for _ in 0..<2_000 {
            now += Int64.random(in: 0...120, using: &random)
            var isCall = false
            switch UInt8.random(in: 0..<8, using: &random) {
            case 0: schedule.heard()
            case 1: schedule.answered(now: Self.at(now))
            case 2: isCall = schedule.moved(isLost: Bool.random(using: &random), now: Self.at(now))
            case 3: isCall = schedule.look(Self.calm, now: Self.at(now))
            default: isCall = schedule.look(Self.silent(since: max(0, now - 700)), now: Self.at(now))
            }
            guard isCall else { continue }
            if let last { #expect(now - last >= 250) }
            last = now
        }
        #expect(last != nil)
    }

    @Test("while nothing is under way nobody is called")
    func idle() {
        var schedule = CallSchedule()
        let calls = schedule.look(Self.calm, now: Self.at(0))
        #expect(!calls)
        _ = schedule.look(Self.silent(), now: Self.at(100))
        let later = schedule.look(Self.calm, now: Self.at(900))
        #expect(!later)
        #expect(schedule.isQuiet)
    }
}

@Suite("Ways that a dialler shows")
struct AnnouncementsTests {
    private static func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: 1_000_000_000).advanced(by: .milliseconds(milliseconds))
    }

    @Test("a way is probed at once, then with pauses that double, until it is answered")
    func repeats() {
        var ways = Announcements<Int>()
        ways.add(7, now: Self.at(0))
        var probes: [Int64] = []
        for now in stride(from: Int64(0), through: 2_000, by: 1) where !ways.due(now: Self.at(now)).isEmpty {
            probes.append(now)
        }
        #expect(probes == [0, 250, 750, 1_750])
        ways.answered(7)
        #expect(ways.deadline == .distantFuture)
    }

    @Test("a way that nobody answers is given up after twelve probes")
    func givenUp() {
        var ways = Announcements<Int>()
        ways.add(7, now: Self.at(0))
        var probes = 0
        while ways.deadline < .distantFuture { probes += ways.due(now: ways.deadline).count }
        #expect(probes == 12)
    }

    @Test("eight ways may be open, a ninth takes the place of the oldest; one that is shown again begins anew")
    func bound() {
        var ways = Announcements<Int>()
        for way in 0..<9 { ways.add(way, now: Self.at(0)) }
        let first = ways.due(now: Self.at(0))
        #expect(first == Array(1...8))
        ways.add(3, now: Self.at(10))
        let second = ways.due(now: Self.at(10))
        #expect(second == [3])
    }
}

@Suite("Whether a dialler believes that it is not heard")
struct UnheardDoubtTests {
    private static func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: 1_000_000_000).advanced(by: .milliseconds(milliseconds))
    }

    private static func mark(_ byte: UInt8) -> PathMark { PathMark([UInt8](repeating: byte, count: 8)) }

    @Test(
        "at once when it has heard nothing itself for 200 ms, not a moment earlier", arguments: [199, 200] as [Int64])
    func silence(_ milliseconds: Int64) {
        var doubt = UnheardDoubt()
        let believed = doubt.believes(Self.mark(1), lastProof: Self.at(0), now: Self.at(milliseconds))
        #expect(believed == (milliseconds == 200))
    }

    @Test("while it hears the listener, only when that says so once more 200 ms later, about the same path")
    func repeated() {
        var doubt = UnheardDoubt()
        let verdicts = [(1, 0), (1, 0), (1, 199), (1, 200), (2, 250), (2, 300), (2, 450)].map { (byte, time) in
            doubt.believes(Self.mark(UInt8(byte)), lastProof: Self.at(Int64(time)), now: Self.at(Int64(time)))
        }
        #expect(verdicts == [false, false, false, true, false, false, true])
    }
}
