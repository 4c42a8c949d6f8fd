import Glibc
import MewBase
import Testing

@testable import MewLoop

@Suite("Byte streams", .timeLimit(.minutes(10)))
struct StreamSocketTests {
    private static func withPair(_ body: @Sendable (EventLoop, StreamSocket, StreamSocket) async throws -> Void)
        async throws
    {
        try await withLoop { loop in
            let (one, other) = try StreamSocket.pair(on: loop)
            try await body(loop, one, other)
            await one.close()
            await other.close()
        }
    }

    @Test("lines come whole, in order, without their line feeds, and the last one needs none")
    func lines() async throws {
        try await Self.withPair { _, one, other in
            try await one.write(Array("first\n\nthird".utf8))
            try await one.write(Array(" goes on\nrest".utf8))
            await one.finish()
            var lines: [String] = []
            while let line = try await other.readLine(maxBytes: 100) {
                lines.append(String(decoding: line, as: UTF8.self))
            }
            #expect(lines == ["first", "", "third goes on", "rest"])
            #expect(try await other.readLine(maxBytes: 100) == nil)
        }
    }

    @Test("a line of exactly the limit is taken, one byte more is refused", arguments: [1, 100, 70_000])
    func lineLimit(limit: Int) async throws {
        try await Self.withPair { loop, one, other in
            let fits = [UInt8](repeating: 7, count: limit)
            let writer = loop.spawn {
                try? await one.write(fits + [10])
                try? await one.write(fits + [7, 10])
            }
            let line = try await other.readLine(maxBytes: limit)
            #expect(line == fits)
            await #expect(throws: StreamError.lineTooLong(maxBytes: limit)) {
                try await other.readLine(maxBytes: limit)
            }
            await other.close()
            await writer.value
        }
    }

    @Test("a line that never ends is refused when the limit is passed, not when memory is full")
    func endlessLine() async throws {
        try await Self.withPair { loop, one, other in
            let writer = loop.spawn {
                while (try? await one.write([UInt8](repeating: 1, count: 65_536))) != nil {}
            }
            await #expect(throws: StreamError.lineTooLong(maxBytes: 1 << 20)) {
                try await other.readLine(maxBytes: 1 << 20)
            }
            await other.close()
            await writer.value
        }
    }

    @Test("a reader that does not read stops the writer, and loses nothing")
    func backPressure() async throws {
        try await Self.withPair { loop, one, other in
            let written = Shared(0)
            let writer = loop.spawn {
                for number in 0..<1_000 {
                    try? await one.write([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 10_000))
                    written.with { $0 += 1 }
                }
                await one.finish()
            }
            // The writer gets as far as the kernel's buffers reach, however often the loop turns.
            for _ in 0..<1_000 { try await loop.run {} }
            #expect(written.current < 100)
            var received = 0
            while let bytes = try await other.read(maxBytes: 4_096) {
                let expected = UInt8(truncatingIfNeeded: received / 10_000)
                if bytes.first != expected { Issue.record("byte \(received) is out of order") }
                received += bytes.count
            }
            #expect(received == 10_000_000)
            await writer.value
        }
    }

    @Test("what each of several writers wrote stays together")
    func writers() async throws {
        try await Self.withPair { loop, one, other in
            let writers = (0..<10).map { number in
                loop.spawn {
                    for _ in 0..<20 {
                        try? await one.write([UInt8](repeating: UInt8(ascii: "a") + UInt8(number), count: 9_999) + [10])
                    }
                }
            }
            for _ in 0..<200 {
                guard let line = try await other.readLine(maxBytes: 10_000) else { break }
                #expect(line.count == 9_999)
                #expect(Set(line).count == 1)
            }
            for writer in writers { await writer.value }
        }
    }

    @Test("a read and a write that wait end at once when they are cancelled")
    func cancelled() async throws {
        try await Self.withPair { loop, one, other in
            let reader = loop.spawn { await Result { try await one.read(maxBytes: 1) } }
            let writer = loop.spawn {
                await Result { while true { try await one.write([UInt8](repeating: 0, count: 65_536)) } }
            }
            for _ in 0..<100 { try await loop.run {} }
            reader.cancel()
            writer.cancel()
            await #expect(throws: StreamError.cancelled) { try await reader.value.get() }
            await #expect(throws: StreamError.cancelled) { try await writer.value.get() }
            // The stream lives on, and a write that had begun is whole.
            try await other.write([5])
            #expect(try await one.read(maxBytes: 10) == [5])
            await one.finish()
            var received = 0
            while let bytes = try await other.read(maxBytes: 65_536) { received += bytes.count }
            #expect(received % 65_536 == 0)
        }
    }

    @Test("closing wakes whoever waits")
    func closing() async throws {
        try await Self.withPair { loop, one, _ in
            let reader = loop.spawn { await Result { try await one.read(maxBytes: 1) } }
            for _ in 0..<10 { try await loop.run {} }
            await one.close()
            await #expect(throws: StreamError.closed) { try await reader.value.get() }
            await #expect(throws: StreamError.closed) { try await one.write([1]) }
        }
    }

    @Test("the other end going away is an end for the reader and an error for the writer")
    func peerGone() async throws {
        try await Self.withPair { _, one, other in
            try await other.write([1, 2])
            await other.close()
            #expect(try await one.read(maxBytes: 10) == [1, 2])
            #expect(try await one.read(maxBytes: 10) == nil)
            await #expect(throws: StreamError.self) { try await one.write([1]) }
        }
    }

    @Test("when the loop cannot watch the socket, whoever would have to wait gets the error")
    func unwatchable() async throws {
        try await withLoop { loop in
            var ends: [Int32] = [-1, -1]
            #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
            let (own, other) = (ends[0], ends[1])
            defer { Glibc.close(other) }
            let stream = StreamSocket(owning: own, on: loop)
            // A second watch of one descriptor is refused, as one is when there is no memory for it.
            let watch = try await loop.run { try loop.watch(own, for: []) { _ in } }
            let reader = loop.spawn { await Result { try await stream.read(maxBytes: 1) } }
            for _ in 0..<10 { try await loop.run {} }
            let writer = loop.spawn {
                await Result { while true { try await stream.write([UInt8](repeating: 0, count: 65_536)) } }
            }
            for result in [await reader.value.map { _ in }, await writer.value] {
                let error = #expect(throws: StreamError.self) { try result.get() }
                guard case .system(let cause)? = error else { continue }
                #expect(cause.kind == .alreadyExists)
            }
            await #expect(throws: StreamError.self) { try await stream.write([1]) }
            try await loop.run { loop.unwatch(watch) }
            await stream.close()
        }
    }

    /// A pattern that shows what is missing or doubled.
    private static func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    }

    @Test("what an output has arrives in order, whatever the kernel takes at once, and what the reader's memory holds")
    func flow() async throws {
        try await Self.withPair { loop, one, other in
            let bytes = Self.pattern(3_000_000)
            let output = Output(bytes)
            let writer = loop.spawn { await Result { try await one.write(from: output) } }
            let input = Input(roomBytes: 10_000)
            while input.received.count < bytes.count { #expect(try await other.read(into: input)) }
            #expect(input.received == bytes)
            try await writer.value.get()
            #expect(output.offers > 10, "more than the kernel takes at once")
            await one.finish()
            #expect(try await other.read(into: input) == false)
        }
    }

    @Test("an output whose task is cancelled, or whose stream is closed, stops; what was not taken has not left")
    func flowEnds() async throws {
        try await Self.withPair { loop, one, other in
            let output = Output(Self.pattern(3_000_000))
            let first = loop.spawn { await Result { try await one.write(from: output) } }
            let reader = loop.spawn { await Result { try await one.read(into: Input(roomBytes: 10)) } }
            for _ in 0..<100 { try await loop.run {} }
            first.cancel()
            reader.cancel()
            await #expect(throws: StreamError.cancelled) { try await first.value.get() }
            await #expect(throws: StreamError.cancelled) { try await reader.value.get() }
            let second = loop.spawn { await Result { try await one.write(from: output) } }
            for _ in 0..<100 { try await loop.run {} }
            await one.close()
            await #expect(throws: StreamError.closed) { try await second.value.get() }
            let input = Input(roomBytes: 100_000)
            while try await other.read(into: input) {}
            #expect(input.received == Array(Self.pattern(3_000_000).prefix(output.leftBytes)))
        }
    }

    @Test("bytes that nobody waits for any more do not keep the loop awake")
    func quietBytes() async throws {
        try await Self.withPair { loop, one, other in
            let reader = loop.spawn { await Result { try await one.read(maxBytes: 1) } }
            for _ in 0..<10 { try await loop.run {} }
            try await other.write([1, 2, 3])
            #expect(try await reader.value.get() == [1])
            let before = try await loop.run { loop.turnCount }
            try await LoopClock(loop).sleep(for: .milliseconds(5))
            #expect(try await loop.run { loop.turnCount } - before < 50)
            #expect(try await one.read(maxBytes: 10) == [2, 3])
        }
    }

    @Test("a hang-up that nobody waits for does not keep the loop awake")
    func quietHangUp() async throws {
        try await Self.withPair { loop, one, other in
            await other.close()
            let before = try await loop.run { loop.turnCount }
            try await LoopClock(loop).sleep(for: .milliseconds(5))
            // A loop that is kept awake makes thousands of turns in that time.
            #expect(try await loop.run { loop.turnCount } - before < 50)
            #expect(try await one.read(maxBytes: 1) == nil)
        }
    }
}

/// `@unchecked Sendable`: touched on the loop, and by the test when nothing else does.
private final class Output: StreamOutput, @unchecked Sendable {
    private let bytes: UnsafeMutableRawBufferPointer
    private(set) var leftBytes = 0
    private(set) var offers = 0

    init(_ bytes: [UInt8]) {
        self.bytes = .allocate(byteCount: bytes.count, alignment: 1)
        self.bytes.copyBytes(from: bytes)
    }

    deinit {
        bytes.deallocate()
    }

    func next(atMost limit: Int) -> UnsafeRawBufferPointer {
        offers += 1
        return UnsafeRawBufferPointer(rebasing: bytes[leftBytes...].prefix(limit))
    }

    func left(_ byteCount: Int) { leftBytes += byteCount }
}

/// `@unchecked Sendable`: as `Output`.
private final class Input: StreamInput, @unchecked Sendable {
    private(set) var received: [UInt8] = []
    private let room: UnsafeMutableRawBufferPointer

    init(roomBytes: Int) {
        room = .allocate(byteCount: roomBytes, alignment: 1)
    }

    deinit {
        room.deallocate()
    }

    func fill(_ read: (UnsafeMutableRawBufferPointer) -> Int) {
        received += room.prefix(read(room))
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
