import MewBase
import Testing

@testable import MewAgent

@Suite("When output is read and told")
struct OutputPacerTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func at(_ milliseconds: Int) -> Instant { start.advanced(by: .milliseconds(milliseconds)) }

    @Test("output of 50 ms is told together, not a moment before")
    func gathers() {
        var pacer = OutputPacer(now: start)
        #expect(pacer.nextDeadline == nil)
        pacer.receive(Array("one ".utf8), now: at(10))
        pacer.receive(Array("two".utf8), now: at(59))
        #expect(pacer.nextDeadline == at(60))
        #expect(pacer.due(now: at(60).advanced(by: .nanoseconds(-1))) == [])
        #expect(pacer.due(now: at(60)) == [.progress("one two")])
        #expect(pacer.nextDeadline == at(1_000), "only the snapshot is left")
    }

    @Test("a full batch stops the reading until it is told")
    func backPressure() {
        var pacer = OutputPacer(now: start)
        #expect(pacer.readableBytes == OutputPacer.batchBytes)
        pacer.receive([UInt8](repeating: 0x79, count: OutputPacer.batchBytes - 1), now: start)
        #expect(pacer.readableBytes == 1)
        pacer.receive([0x79], now: start)
        #expect(pacer.readableBytes == 0)
        #expect(pacer.due(now: at(50)).count == 1)
        #expect(pacer.readableBytes == OutputPacer.batchBytes)
    }

    @Test("a mebibyte is told live, then one note, then nothing, and the end is kept")
    func turnsQuiet() {
        var pacer = OutputPacer(now: start)
        var told = ""
        var milliseconds = 0
        func flood(_ batches: Int, pause: Int) {
            for _ in 0..<batches {
                pacer.receive([UInt8](repeating: 0x79, count: OutputPacer.batchBytes), now: at(milliseconds))
                milliseconds += pause
                for case .progress(let text) in pacer.due(now: at(milliseconds)) { told += text }
            }
        }
        flood(OutputPacer.liveBytes / OutputPacer.batchBytes - 1, pause: 50)
        #expect(!told.contains(OutputPacer.quietNote))
        flood(1, pause: 50)
        #expect(told.hasSuffix(OutputPacer.quietNote))
        #expect(told.utf8.count == OutputPacer.liveBytes + OutputPacer.quietNote.utf8.count)
        let before = told
        flood(100, pause: 5)
        pacer.receive(Array("the end".utf8), now: at(milliseconds))
        #expect(pacer.finish() == [])
        #expect(told == before)
        #expect(pacer.kept.text.hasSuffix("ythe end"))
    }

    @Test("snapshots come after 1, 2, 4 … 30 s, and only when there is something new")
    func snapshots() {
        var pacer = OutputPacer(now: start)
        var times: [Int] = []
        for second in 1...120 {
            pacer.receive(Array("\(second) ".utf8), now: at(second * 1_000 - 100))
            for case .snapshot(let text) in pacer.due(now: at(second * 1_000)) {
                times.append(second)
                #expect(text.hasSuffix("\(second) "))
            }
        }
        #expect(times == [1, 3, 7, 15, 31, 61, 91])
        #expect(pacer.due(now: at(121_000)).count == 1, "what came after the last one")
        #expect(pacer.due(now: at(300_000)) == [])
        #expect(pacer.nextDeadline == nil)
    }

    @Test("a snapshot tells the open batch first, so that its text does not stand there twice")
    func snapshotClosesBatch() {
        var pacer = OutputPacer(now: start)
        pacer.receive(Array("late".utf8), now: at(990))
        #expect(pacer.nextDeadline == at(1_000))
        #expect(pacer.due(now: at(999)) == [])
        #expect(pacer.due(now: at(1_000)) == [.progress("late"), .snapshot("late")])
        #expect(pacer.due(now: at(2_000)) == [])
    }

    @Test("the end of the output is told at once, an unfinished character replaced")
    func finishes() {
        var pacer = OutputPacer(now: start)
        pacer.receive([0x61, 0xe2, 0x82], now: start)
        #expect(pacer.finish() == [.progress("a\u{fffd}")])
        #expect(pacer.finish() == [])
        #expect(pacer.kept.text == "a\u{fffd}")
    }

    @Test("half a character alone tells nothing, and is told with its other half")
    func halfCharacter() {
        var pacer = OutputPacer(now: start)
        pacer.receive([0xe2], now: start)
        #expect(pacer.due(now: at(50)) == [])
        pacer.receive([0x82, 0xac], now: at(60))
        #expect(pacer.due(now: at(110)) == [.progress("€")])
    }
}
