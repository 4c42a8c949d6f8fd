import MewBase
import MewLoop
import Testing

@Suite("The clock of a loop", .timeLimit(.minutes(10)))
struct LoopClockTests {
    @Test("never ends a sleep early, whoever awaits it")
    func sleeps() async throws {
        try await withLoop { loop in
            let clock: any Clock<Duration> = LoopClock(loop)
            let start = loop.now
            try await clock.sleep(for: .milliseconds(2))
            #expect(start.duration(to: loop.now) >= .milliseconds(2))
            let slept = await loop.spawn {
                let start = loop.now
                try? await clock.sleep(for: .milliseconds(2))
                return start.duration(to: loop.now)
            }.value
            #expect(slept >= .milliseconds(2))
        }
    }

    @Test("a cancelled sleep ends at once and says so")
    func cancelled() async throws {
        try await withLoop { loop in
            let task = loop.spawn { () -> Bool in
                do {
                    try await LoopClock(loop).sleep(for: .seconds(3_600))
                    return false
                } catch {
                    return error is CancellationError
                }
            }
            task.cancel()
            #expect(await task.value)
        }
    }

    @Test("a task that was cancelled before does not begin to sleep")
    func cancelledBefore() async throws {
        try await withLoop { loop in
            let gate = AsyncStream<Void>.makeStream()
            let task = loop.spawn { () -> Bool in
                for await _ in gate.stream {}
                do {
                    try await LoopClock(loop).sleep(for: .seconds(3_600))
                    return false
                } catch {
                    return true
                }
            }
            task.cancel()
            gate.continuation.finish()
            #expect(await task.value)
        }
    }
}
