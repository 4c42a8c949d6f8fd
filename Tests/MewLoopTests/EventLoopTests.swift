import MewBase
import MewLoop
import Testing

@Suite("The epoll loop as an executor", .timeLimit(.minutes(10)))
struct EventLoopTests {
    @Test("actors pinned to a loop run on its thread, from whatever thread they are called")
    func pinned() async throws {
        try await withLoop { loop in
            let counter = Counter(loop)
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask { for _ in 0..<500 { await counter.increment() } }
                }
            }
            #expect(await counter.count == 4_000)
            #expect(await counter.wasAlwaysOnLoop)
        }
    }

    @Test("a task that prefers the loop awaits its actors without waking any thread")
    func noHops() async throws {
        try await withLoop { loop in
            let counter = Counter(loop)
            let signals = await loop.spawn {
                let before = loop.signalCount
                for _ in 0..<10_000 { await counter.increment() }
                return loop.signalCount - before
            }.value
            #expect(await counter.count == 10_000)
            #expect(signals <= 2)
        }
    }

    @Test("children of a task group and async let inherit the preference")
    func childrenInherit() async throws {
        try await withLoop { loop in
            let counter = Counter(loop)
            let signals = await loop.spawn {
                let before = loop.signalCount
                await withTaskGroup { group in
                    for _ in 0..<100 { group.addTask { for _ in 0..<10 { await counter.increment() } } }
                }
                async let one: Void = counter.increment()
                await one
                return loop.signalCount - before
            }.value
            #expect(await counter.count == 1_001)
            #expect(signals <= 2)
        }
    }

    @Test("no wake-up is lost over 20,000 hops between two loops")
    func noLostWakeup() async throws {
        try await withLoop { left in
            try await withLoop { right in
                let (one, two) = (Counter(left), Counter(right))
                for _ in 0..<10_000 {
                    await one.increment()
                    await two.increment()
                }
                #expect(await one.count == 10_000)
                #expect(await two.count == 10_000)
            }
        }
    }

    @Test("no wake-up is lost when a continuation is resumed in an end-of-turn action")
    func resumedAtEndOfTurn() async throws {
        try await withLoop { loop in
            await loop.spawn {
                for _ in 0..<1_000 {
                    await withCheckedContinuation { continuation in
                        loop.perform { loop.atEndOfTurn { continuation.resume() } }
                    }
                }
            }.value
        }
    }

    @Test("posts run in the order posted, on the loop's thread")
    func posts() async throws {
        try await withLoop { loop in
            let seen = Shared<[Int]>([])
            for number in 0..<1_000 { loop.post { if loop.isCurrent { seen.with { $0.append(number) } } } }
            try await loop.run {}
            #expect(seen.current == Array(0..<1_000))
        }
    }

    @Test("the time stands still within a turn and never goes back between turns")
    func turnTime() async throws {
        try await withLoop { loop in
            var last = Instant.zero
            for _ in 0..<100 {
                let (first, second) = try await loop.run { (loop.now, loop.now) }
                #expect(first == second)
                #expect(first >= last)
                last = first
            }
        }
    }

    @Test("queued jobs go before end-of-turn actions, and those run until none are left")
    func endOfTurn() async throws {
        try await withLoop { loop in
            let order = Shared<[String]>([])
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                loop.post {
                    loop.atEndOfTurn {
                        order.with { $0.append("end 1") }
                        loop.atEndOfTurn {
                            order.with { $0.append("end 2") }
                            done.resume()
                        }
                    }
                    loop.post { order.with { $0.append("job") } }
                }
            }
            #expect(order.current == ["job", "end 1", "end 2"])
        }
    }

    @Test(
        "timers fire in the order of their deadlines, never early, also where the kernel waits in milliseconds only",
        arguments: [false, true])
    func timers(waitsInMilliseconds: Bool) async throws {
        try await withLoop(waitsInMilliseconds: waitsInMilliseconds) { loop in
            let fired = Shared<[Int]>([])
            let early = Shared<[Int]>([])
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                loop.post {
                    let start = loop.now
                    for number in [3, 1, 2, 0, 4] {
                        let deadline = start.advanced(by: .microseconds(300 * number))
                        _ = loop.schedule(at: deadline) {
                            fired.with { $0.append(number) }
                            if loop.now < deadline { early.with { $0.append(number) } }
                            if number == 4 { done.resume() }
                        }
                    }
                }
            }
            #expect(fired.current == [0, 1, 2, 3, 4])
            #expect(early.current == [])
        }
    }

    @Test("a loop that is stopped still runs the jobs that come later")
    func lateJobs() async throws {
        let loop = try EventLoop(name: "test")
        let counter = Counter(loop)
        loop.stop()
        for _ in 0..<100 { await counter.increment() }
        #expect(await counter.count == 100)
        #expect(await counter.wasAlwaysOnLoop)
    }

    @Test("polling begins after a wait shorter than the limit and ends with one as long as it")
    func spinningAdapts() {
        var spinning = Spinning(limit: .microseconds(50))
        #expect(!spinning.expectsSoon)
        spinning.waited(.microseconds(50) - .nanoseconds(1))
        #expect(spinning.expectsSoon)
        spinning.waited(.microseconds(50))
        #expect(!spinning.expectsSoon)
    }

    @Test("a loop that polls for a while before it sleeps behaves the same")
    func spinning() async throws {
        try await withLoop(spin: .microseconds(50)) { loop in
            let counter = Counter(loop)
            for _ in 0..<1_000 { await counter.increment() }
            #expect(await counter.count == 1_000)
        }
    }
}
