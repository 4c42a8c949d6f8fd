import MewIdentity
import MewWire
import Testing

@testable import MewClient

@Suite("The numbers of sessions")
struct SessionNumbersTests {
    private func id(_ number: Int) -> SessionID { SessionID("sess_\(number)")! }  // an ID that is one

    private func numbers(_ numbers: SessionNumbers, _ sessions: ClosedRange<Int>) -> [UInt64?] {
        sessions.map { numbers[id($0)] }
    }

    @Test("a number is given at the first sight, and stays whatever the order of the list becomes")
    func stay() {
        var given = SessionNumbers()
        given.note([id(1), id(2)])
        given.note([id(3), id(2), id(1)])
        #expect(numbers(given, 1...3) == [1, 2, 3])
    }

    @Test("the number of a deleted session is never given again, not even the last one or after all are gone")
    func neverAgain() {
        var given = SessionNumbers()
        given.note([id(1), id(2)])
        given.note([id(1)])
        #expect(given[id(2)] == nil)
        given.note([id(1), id(3)])
        #expect(numbers(given, 1...3) == [1, nil, 3])
        given.note([])
        given.note([id(4)])
        #expect(given[id(4)] == 4)
    }

    @Test("a thousand have numbers, the first of the list; one that moves up gets a new one")
    func bound() {
        var given = SessionNumbers()
        let limit = SessionNumbers.maxEntries
        let all = (1...(limit + 1)).map(id)
        given.note(all)
        #expect(given[id(limit)] == UInt64(limit) && given[id(limit + 1)] == nil)
        given.note(all.reversed())
        #expect(given[id(limit + 1)] == UInt64(limit + 1) && given[id(1)] == nil)
    }

    @Test("they are kept with the daemon's record, the highest one also when its session is gone")
    func kept() throws {
        let node = SecretKey.generate(entropy: SeededEntropy(seed: 1)).node
        var records = ClientRecords()
        try records.registry.add(DaemonRecord(node: node, name: "desk", addedAt: WallTime(milliseconds: 1)))
        records.registry.update(node) { record in
            record.sessionNumbers.note([id(1), id(2)])
            record.sessionNumbers.note([id(1)])
        }
        let read = try ClientRecords(stored: records.stored)
        #expect(read == records && read.registry[node]?.sessionNumbers[id(1)] == 1)
        var given = try #require(read.registry[node]).sessionNumbers
        given.note([id(1), id(9)])
        #expect(given[id(9)] == 3)
    }
}
