import Glibc
import MewBase
import MewLoop
import Testing

@Suite("Standard input", .timeLimit(.minutes(10)))
struct StandardInputTests {
    @Test("lines of a pipe arrive as they are written; the last one needs no line feed")
    func pipe() async throws {
        try await withLoop { loop in
            var ends: [Int32] = [-1, -1]
            #expect(Glibc.pipe(&ends) == 0)
            let (reader, writer) = (ends[0], ends[1])
            defer { close(reader) }
            let input = StandardInput(reader, on: loop)
            let first = loop.spawn { try? await input.readLine(maxBytes: 100) }
            for _ in 0..<10 { try await loop.run {} }
            #expect(write(writer, "yes\nno\nmaybe", 12) == 12)
            #expect(await first.value == Array("yes".utf8))
            #expect(try await input.readLine(maxBytes: 100) == Array("no".utf8))
            close(writer)
            #expect(try await input.readLine(maxBytes: 100) == Array("maybe".utf8))
            #expect(try await input.readLine(maxBytes: 100) == nil)
            #expect(fcntl(reader, F_GETFL) & O_NONBLOCK == 0)
        }
    }

    @Test("a plain file is read too")
    func file() async throws {
        try await inTemporaryDirectory { directory in
            try await withLoop { loop in
                let descriptor = open("\(directory)/s", O_RDWR | O_CREAT, 0o600)
                defer { close(descriptor) }
                #expect(write(descriptor, "one\ntwo\n", 8) == 8)
                lseek(descriptor, 0, SEEK_SET)
                let input = StandardInput(descriptor, on: loop)
                let first = try await input.readLine(maxBytes: 3)
                #expect(first == Array("one".utf8))
                #expect(try await input.readLine(maxBytes: 3) == Array("two".utf8))
                #expect(try await input.readLine(maxBytes: 3) == nil)
            }
        }
    }

    @Test("everything up to the end is read at once, as long as it is not too much; lines read before are gone")
    func readsAll() async throws {
        try await withLoop { loop in
            func input(_ text: String) throws -> StandardInput {
                var ends: [Int32] = [-1, -1]
                #expect(Glibc.pipe(&ends) == 0)
                #expect(write(ends[1], text, text.utf8.count) == text.utf8.count)
                close(ends[1])
                return StandardInput(ends[0], on: loop)
            }
            let whole = try input("one\ntwo\n\n")
            #expect(try await whole.readAll(maxBytes: 9) == Array("one\ntwo\n\n".utf8))
            #expect(try await whole.readAll(maxBytes: 9) == [])
            #expect(try await input("one\ntwo\n\n").readAll(maxBytes: 8) == nil)
            #expect(try await input("").readAll(maxBytes: 0) == [])
            let rest = try input("one\ntwo\n")
            #expect(try await rest.readLine(maxBytes: 8) == Array("one".utf8))
            #expect(try await rest.readAll(maxBytes: 4) == Array("two\n".utf8))
        }
    }

    @Test("a question that nobody answers can be given up")
    func cancelled() async throws {
        try await withLoop { loop in
            var ends: [Int32] = [-1, -1]
            #expect(Glibc.pipe(&ends) == 0)
            let input = StandardInput(ends[0], on: loop)
            let question = loop.spawn { () -> StreamError? in
                do throws(StreamError) {
                    _ = try await input.readLine(maxBytes: 100)
                    return nil
                } catch {
                    return error
                }
            }
            for _ in 0..<10 { try await loop.run {} }
            question.cancel()
            #expect(await question.value == .cancelled)
            for end in ends { close(end) }
        }
    }
}

@Suite("Signals", .timeLimit(.minutes(10)))
struct SignalTests {
    @Test("blocked signals arrive as events, also those that came before anybody listened")
    func delivered() async throws {
        try await withLoop { loop in
            // Sent to the loop's own thread, where they are blocked: the other threads of this process do not block them.
            let source = try await loop.run {
                let source = try SignalSource(blocking: [.terminate, .interrupt])
                pthread_kill(pthread_self(), SIGTERM)
                return source
            }
            let (signals, input) = AsyncStream<Signal>.makeStream()
            try await source.deliver(on: loop) { input.yield($0) }
            var arrived = signals.makeAsyncIterator()
            #expect(await arrived.next() == .terminate)
            try await loop.run { _ = pthread_kill(pthread_self(), SIGINT) }
            #expect(await arrived.next() == .interrupt)
        }
    }
}
