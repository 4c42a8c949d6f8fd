import MewSession
import MewWire
import Testing

@Suite("the bounded queue of one client")
struct ClientQueueTests {
    private func frame(_ bytes: Int) -> [UInt8] { [UInt8](repeating: 7, count: bytes) }

    @Test("frames come out in the order in which they went in")
    func order() {
        var queue = ClientQueue()
        for number in 0..<3_000 { _ = queue.push([UInt8(number % 251)], .stream(upTo: nil)) }
        for number in 0..<3_000 { #expect(queue.pop() == [UInt8(number % 251)]) }
        #expect(queue.pop() == nil)
    }

    @Test("4,096 frames fit, one more is a gap that names the last event that was taken")
    func countBoundary() {
        var queue = ClientQueue()
        _ = queue.push([0], .stream(upTo: SequenceNumber(1)))
        #expect(queue.pop() == [0])
        for number in 0..<ClientQueue.maxFrames {
            #expect(queue.push([1], .stream(upTo: SequenceNumber(UInt64(number + 2)))) == .queued)
        }
        #expect(queue.push([1], .stream(upTo: SequenceNumber(9_999))) == .overflowed(after: .first))
        #expect(queue.isEmpty)
    }

    @Test("4 MiB fit, one byte more is a gap")
    func byteBoundary() {
        var queue = ClientQueue()
        #expect(queue.push(frame(ClientQueue.maxBytes - 1), .stream(upTo: nil)) == .queued)
        #expect(queue.push(frame(1), .stream(upTo: nil)) == .queued)
        #expect(queue.push(frame(1), .stream(upTo: nil)) == .overflowed(after: .zero))
    }

    @Test("a single frame larger than the bound still reaches a client that keeps up")
    func largeFrame() {
        var queue = ClientQueue()
        #expect(queue.push(frame(ClientQueue.maxBytes + 1), .stream(upTo: nil)) == .queued)
        #expect(queue.pop()?.count == ClientQueue.maxBytes + 1)
    }

    @Test("between a gap and the resume there is silence, and replies come through")
    func silence() {
        var queue = ClientQueue()
        _ = queue.push([1], .reply)
        _ = queue.push(frame(ClientQueue.maxBytes - 1), .stream(upTo: nil))
        #expect(queue.push([2], .stream(upTo: nil)) == .overflowed(after: .zero))
        #expect(queue.push([3], .stream(upTo: nil)) == .silent)
        #expect(queue.push([4], .reply) == .queued)
        #expect(queue.pop() == [1])
        #expect(queue.pop() == [4])
        #expect(queue.pop() == nil)
        queue.resume()
        #expect(queue.push([5], .stream(upTo: SequenceNumber(8))) == .queued)
        #expect(queue.pop() == [5])
        #expect(queue.taken == SequenceNumber(8))
    }

    @Test("a gap of a client that has taken nothing yet names what it had when it attached")
    func start() {
        var queue = ClientQueue()
        queue.restart(after: SequenceNumber(7))
        _ = queue.push(frame(ClientQueue.maxBytes), .stream(upTo: SequenceNumber(8)))
        #expect(queue.push([1], .stream(upTo: SequenceNumber(9))) == .overflowed(after: SequenceNumber(7)))
    }

    @Test("who does not read what it asked for has no room to ask for more")
    func room() {
        var queue = ClientQueue()
        #expect(queue.push(frame(ClientQueue.roomyBytes), .reply) == .queued)
        #expect(queue.hasRoom)
        #expect(queue.push([1], .reply) == .queued)
        #expect(!queue.hasRoom)
        _ = queue.pop()
        #expect(queue.hasRoom)
    }
}
