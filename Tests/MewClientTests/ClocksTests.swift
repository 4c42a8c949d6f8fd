import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

@Suite("Alerts, whatever the clocks of the two machines say")
struct AlertTests {
    private func alert(_ number: UInt64, at: Int64) -> DaemonMessage.SessionAlert {
        DaemonMessage.SessionAlert(
            sessionID: SessionID("sess_1")!, title: "t", kind: .turnComplete,
            alertID: AlertID(ULID(high: 1, low: number)), at: WallTime(milliseconds: at))
    }

    /// - Parameter ahead: how far our clock is ahead of the daemon's, in milliseconds.
    private func isTold(_ memory: inout AlertMemory, _ number: UInt64, sentAt: Int64, arrivesAt: Int64, ahead: Int64)
        -> Bool
    {
        let (alert, now) = (alert(number, at: sentAt), WallTime(milliseconds: arrivesAt + ahead))
        memory.heard(sentAt: WallTime(milliseconds: sentAt), now: now)
        return memory.isNew(alert, now: now)
    }

    @Test(
        "an alert is told once, and not when it was on its way for more than ten seconds longer than the fastest message",
        arguments: [0, 3_600_000, -3_600_000] as [Int64])
    func alerts(ahead: Int64) {
        var memory = AlertMemory()
        memory.begin()
        #expect(isTold(&memory, 1, sentAt: 1_000, arrivesAt: 1_050, ahead: ahead), "the first one is as fast as any")
        #expect(!isTold(&memory, 1, sentAt: 1_000, arrivesAt: 1_060, ahead: ahead), "once")
        #expect(isTold(&memory, 2, sentAt: 2_000, arrivesAt: 12_050, ahead: ahead))
        #expect(!isTold(&memory, 3, sentAt: 2_000, arrivesAt: 12_051, ahead: ahead))
        memory.begin()
        #expect(isTold(&memory, 4, sentAt: 2_000, arrivesAt: 60_000, ahead: ahead), "the clocks may have been set")
    }

    @Test(
        "however many messages came later, each slower than the one before, the fastest is what an alert is measured by"
    )
    func manyArrivals() {
        var memory = AlertMemory()
        memory.begin()
        for number in 1...200 as ClosedRange<Int64> {
            memory.heard(
                sentAt: WallTime(milliseconds: number * 10), now: WallTime(milliseconds: number * 10 + number * 40))
        }
        #expect(!isTold(&memory, 1, sentAt: 10_000, arrivesAt: 20_041, ahead: 0), "10,001 ms longer than 40 ms")
        #expect(isTold(&memory, 2, sentAt: 10_000, arrivesAt: 20_040, ahead: 0))
    }

    private static let span = AlertMemory.spanMilliseconds

    @Test(
        "while a clock that was set makes everything look old, alerts are lost for ten minutes at most",
        arguments: [30_000, 3_600_000] as [Int64])
    func theirsSetBack(by step: Int64) {
        var memory = AlertMemory()
        memory.begin()
        #expect(isTold(&memory, 1, sentAt: 0, arrivesAt: 0, ahead: 0))
        #expect(!isTold(&memory, 2, sentAt: 60_000 - step, arrivesAt: 60_000, ahead: 0), "or it was held up")
        #expect(!isTold(&memory, 3, sentAt: Self.span - step, arrivesAt: Self.span, ahead: 0))
        #expect(isTold(&memory, 4, sentAt: Self.span + 1 - step, arrivesAt: Self.span + 1, ahead: 0))
        #expect(isTold(&memory, 5, sentAt: Self.span + 2 - step, arrivesAt: Self.span + 2, ahead: 0))
    }

    @Test(
        "a clock of either machine that is set so that everything looks early costs no alert, and is believed at once")
    func setSoThatAllLooksEarly() {
        let step: Int64 = 3_600_000
        for isOurs in [true, false] {
            var memory = AlertMemory()
            memory.begin()
            #expect(isTold(&memory, 1, sentAt: 0, arrivesAt: 0, ahead: 0))
            let (theirs, ours) = isOurs ? (0, -step) : (step, 0)
            #expect(isTold(&memory, 2, sentAt: 60_000 + theirs, arrivesAt: 60_000, ahead: ours))
            #expect(!isTold(&memory, 3, sentAt: 60_000 + theirs, arrivesAt: 70_001, ahead: ours), "compared with that")
        }
    }

    @Test("our clock set ahead by more than ten minutes, also back to where it was, costs no alert")
    func oursSetAhead() {
        var memory = AlertMemory()
        memory.begin()
        #expect(isTold(&memory, 1, sentAt: 0, arrivesAt: 0, ahead: 0))
        #expect(isTold(&memory, 2, sentAt: 1_000, arrivesAt: 1_000, ahead: -3_600_000))
        #expect(isTold(&memory, 3, sentAt: 2_000, arrivesAt: 2_000, ahead: 0))
        #expect(isTold(&memory, 4, sentAt: 3_000, arrivesAt: 3_000, ahead: 3_600_000))
        #expect(!isTold(&memory, 5, sentAt: 3_000, arrivesAt: 13_001, ahead: 3_600_000), "compared with that")
    }

    @Test("times that no clock shows are no reason to trap or to be silent")
    func extremes() {
        for (sentAt, now) in [(Int64.min, Int64.max), (.max, .min), (.min, 0), (0, .min)] {
            var memory = AlertMemory()
            memory.heard(sentAt: WallTime(milliseconds: 5), now: WallTime(milliseconds: 6))
            memory.heard(sentAt: WallTime(milliseconds: sentAt), now: WallTime(milliseconds: now))
            _ = memory.isNew(alert(1, at: sentAt), now: WallTime(milliseconds: now))
        }
    }
}

@Suite("Versions of the two programs")
struct VersionTests {
    @Test("they are told when they differ")
    func versions() {
        let node = SeededNode.one
        for (app, theirs, isTold) in [
            ("mew 0.2", "0.2", false), ("mew 0.2", "0.1", true), ("mew 0.2", nil, false), ("", "0.1", false),
        ] {
            var record = DaemonRecord(node: node, name: "desk", addedAt: WallTime(milliseconds: 0))
            record.version = theirs
            let versions = DaemonView(record: record, app: app).versions
            #expect(versions == (isTold ? DaemonView.Versions(ours: "0.2", theirs: "0.1") : nil))
        }
    }
}
