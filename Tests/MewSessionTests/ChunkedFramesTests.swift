import Testing

@testable import MewSession

@Suite("the frames that a journal keeps")
struct ChunkedFramesTests {
    private func queue(_ numbers: Range<UInt8>, dropping count: Int = 0) -> ChunkedFrames {
        var queue = ChunkedFrames()
        for number in numbers { queue.append([number]) }
        for _ in 0..<count { _ = queue.removeFirst() }
        return queue
    }

    @Test(
        "what was taken in comes out in its order, however many were dropped before",
        arguments: [0, 1, 47, 48, 49, 96, 199])
    func order(dropped: Int) {
        var queue = queue(0..<200, dropping: dropped)
        #expect(queue.count == 200 - dropped)
        #expect(queue.suffix(500) == (dropped..<200).map { [UInt8($0)] })
        #expect(queue.removeFirst() == [UInt8(dropped)])
        queue.append([250])
        #expect(queue.count == 200 - dropped && queue.suffix(1) == [[250]])
    }

    @Test("the newest ones, of every number", arguments: 0...150)
    func suffix(length: Int) {
        #expect(queue(0..<150, dropping: 7).suffix(length) == (max(7, 150 - length)..<150).map { [UInt8($0)] })
    }

    @Test("a copy stays as it is")
    func copies() {
        var queue = queue(0..<100)
        let copy = queue
        for _ in 0..<60 { _ = queue.removeFirst() }
        queue.append([200])
        #expect(copy.count == 100 && copy.suffix(100) == (0..<100).map { [UInt8($0)] })
    }

    @Test("an empty queue has nothing, and takes in again")
    func empty() {
        var queue = queue(0..<48, dropping: 48)
        #expect(queue.count == 0 && queue.suffix(3).isEmpty)
        queue.append([1])
        #expect(queue.suffix(3) == [[1]])
    }
}
