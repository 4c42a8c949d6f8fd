import MewBase
import MewLoop
import MewSim
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

    @Test("a pause says how it ended: its time is over, at that time, or the task was cancelled, at once")
    func pauses() throws {
        for (cancelledAfter, end, elapsed) in [
            (nil, Pause.over, Duration.seconds(3)), (.milliseconds(2_999), .cancelled, .milliseconds(2_999)),
            (.milliseconds(3_001), .over, .milliseconds(3_001)), (.zero, .cancelled, .zero),
        ] as [(Duration?, Pause, Duration)] {
            for hasDeadline in [false, true] {
                let (pause, time) = try Self.pause(cancelledAfter, hasDeadline: hasDeadline)
                #expect(pause == end && time == elapsed, "cancelled after \(String(describing: cancelledAfter))")
            }
        }
    }

    /// A pause of three seconds, and how long it took.
    private static func pause(_ cancelledAfter: Duration?, hasDeadline: Bool) throws -> (Pause, Duration) {
        try withSimWorld(seed: 1) { world in
            let machine = world.addNode("machine")
            let loop = machine.loop
            let pause = try world.run(on: machine) {
                let task = loop.spawn {
                    let clock = LoopClock(loop)
                    if hasDeadline { return await clock.pause(until: clock.now.advanced(by: .seconds(3))) }
                    return await clock.pause(for: .seconds(3))
                }
                if let cancelledAfter {
                    if cancelledAfter > .zero { try await LoopClock(loop).sleep(for: cancelledAfter) }
                    task.cancel()
                }
                return await task.value
            }
            return (pause, SimWorld.start.duration(to: world.now))
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
