import MewLoop
import MewRelay
import Testing

@Suite("Streams and the loop they share", .timeLimit(.minutes(1)))
struct StreamTurnTests {
    /// Memory that is lent in small pieces, and what is done when the first of them is.
    ///
    /// `@unchecked Sendable`: touched on the loop of its stream only.
    private final class Pieces: StreamInput, @unchecked Sendable {
        private(set) var reads = 0
        var onFirst: (() -> Void)?
        private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 10, alignment: 1)

        deinit { memory.deallocate() }

        func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) {
            if read(memory) > 0 { reads += 1 }
            if reads == 1 { onFirst?() }
        }
    }

    private actor Reader {
        nonisolated let unownedExecutor: UnownedSerialExecutor
        private let loop: EventLoop
        private var readsBefore: Int?

        init(_ loop: EventLoop) {
            self.loop = loop
            unownedExecutor = loop.asUnownedSerialExecutor()
        }

        /// How many reads there were, and how many of them before a timer that was due at the first.
        func run(_ stream: any TCPStream) async throws -> (all: Int, before: Int?) {
            let pieces = Pieces()
            pieces.onFirst = { [loop] in
                _ = loop.schedule(at: loop.now) { self.assumeIsolated { $0.readsBefore = pieces.reads } }
            }
            while try await stream.read(into: pieces) {}
            return (pieces.reads, readsBefore)
        }
    }

    @Test("whoever sends without end leaves the loop to others: a timer comes between two reads")
    func turns() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let (near, far) = try StreamSocket.pair(on: loop)
        try await far.write([UInt8](repeating: 1, count: 50_000))
        await far.close()
        let reads = try await Reader(loop).run(PlainStream(near))
        #expect(reads.all == 5_000)
        #expect(reads.before.map { $0 <= 2 } == true, "\(String(describing: reads.before))")
        await near.close()
    }
}
