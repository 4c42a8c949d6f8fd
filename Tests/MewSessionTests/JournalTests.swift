import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

@Suite("the end of a journal, and who may have it replayed")
struct JournalTests {
    private let epoch = Epoch(ULID(high: 1, low: 1))

    private func journal(events: Int, bytes: Int = 10) -> Journal {
        var journal = Journal(epoch: epoch)
        for _ in 0..<events { _ = journal.append([UInt8](repeating: 1, count: bytes)) }
        return journal
    }

    @Test("numbers start at 1 and have no holes")
    func numbers() {
        var journal = Journal(epoch: epoch)
        #expect(journal.head == .zero)
        #expect((1...5).map { _ in journal.append([0]).sequence.rawValue } == [1, 2, 3, 4, 5])
        #expect(journal.head == SequenceNumber(5))
    }

    @Test("a client that misses 2,000 events gets them; one that misses 2,001 gets a snapshot")
    func eventBoundary() {
        let journal = journal(events: 2_500)
        #expect(journal.replay(after: SequenceNumber(500), epoch: epoch)?.count == 2_000)
        #expect(journal.replay(after: SequenceNumber(499), epoch: epoch) == nil)
    }

    @Test("a client that misses 1 MiB gets it; one byte more is a snapshot")
    func byteBoundary() {
        let fits = journal(events: 1_024, bytes: 1_024)
        #expect(fits.replay(after: .zero, epoch: epoch)?.count == 1_024)
        var tooLarge = journal(events: 1, bytes: 1)
        for _ in 0..<1_024 { _ = tooLarge.append([UInt8](repeating: 1, count: 1_024)) }
        #expect(tooLarge.replay(after: .zero, epoch: epoch) == nil)
        #expect(tooLarge.replay(after: .first, epoch: epoch)?.count == 1_024)
    }

    @Test("a number beyond the head, another epoch or no number is a snapshot; the head itself is an empty replay")
    func whatNeedsASnapshot() {
        let journal = journal(events: 3)
        #expect(journal.replay(after: SequenceNumber(4), epoch: epoch) == nil)
        #expect(journal.replay(after: SequenceNumber(2), epoch: Epoch(ULID(high: 1, low: 2))) == nil)
        #expect(journal.replay(after: SequenceNumber(2), epoch: nil) == nil)
        #expect(journal.replay(after: nil, epoch: epoch) == nil)
        #expect(journal.replay(after: SequenceNumber(3), epoch: epoch)?.isEmpty == true)
    }

    @Test("an event larger than the replay limit empties what is kept, and nothing else")
    func hugeEvent() {
        var journal = journal(events: 5)
        _ = journal.append([UInt8](repeating: 1, count: (1 << 20) + 1))
        #expect(journal.keptEvents == 0)
        #expect(journal.replay(after: SequenceNumber(5), epoch: epoch) == nil)
        #expect(journal.append([1]).sequence == SequenceNumber(7))
        #expect(journal.replay(after: SequenceNumber(6), epoch: epoch)?.count == 1)
    }

    @Test("after a load the numbers go on, and the loaded end can be replayed")
    func loaded() {
        let tail = (8...10).map { EventRow(sequence: SequenceNumber($0), body: [UInt8($0)]) }
        var journal = Journal(epoch: epoch, head: SequenceNumber(10), tail: tail)
        #expect(journal.replay(after: SequenceNumber(7), epoch: epoch).map(Array.init) == [[8], [9], [10]])
        #expect(journal.replay(after: SequenceNumber(6), epoch: epoch) == nil)
        #expect(journal.append([11]).sequence == SequenceNumber(11))
    }
}
