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

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
