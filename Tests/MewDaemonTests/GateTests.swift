import MewLoop
import Testing

@testable import MewDaemon

@Suite("Gate and turnstile", .timeLimit(.minutes(1)))
struct GateTests {
    @Test("those who wait pass when it opens, and whoever comes later at once")
    func opens() async {
        let gate = Gate()
        async let first = gate.passed()
        async let second = gate.passed()
        await gate.isReached(by: 2)
        gate.open()
        #expect(await (first, second) == (true, true))
        #expect(await gate.passed())
    }

    @Test("a closed gate lets nobody through and does not open again; an open one closes")
    func closes() async {
        let closed = Gate()
        async let waiting = closed.passed()
        await closed.isReached(by: 1)
        closed.close()
        closed.open()
        #expect(await waiting == false)
        #expect(await closed.passed() == false)
        let open = Gate()
        open.open()
        open.close()
        #expect(await open.passed() == false)
    }

    @Test("a task that is cancelled leaves the gate")
    func cancelled() async {
        let gate = Gate()
        let task = Task { await gate.passed() }
        await gate.isReached(by: 1)
        task.cancel()
        #expect(await task.value == false)
    }

    private static let gates: [(name: String, make: @Sendable () -> Gate)] = [
        ("waiting", { Gate() }),
        (
            "open",
            {
                let gate = Gate()
                gate.open()
                return gate
            }
        ),
        (
            "closed",
            {
                let gate = Gate()
                gate.close()
                return gate
            }
        ),
    ]

    @Test("every state of a gate against opening and closing: who waits, and who comes afterwards")
    func table() async {
        var lines: [String] = []
        for (name, make) in Self.gates {
            for (input, opens) in [("open", true), ("close", false)] {
                let gate = make()
                async let waiting = gate.passed()
                if name == "waiting" { await gate.isReached(by: 1) }
                opens ? gate.open() : gate.close()
                let (first, later) = (await waiting, await gate.passed())
                lines.append("\(name), \(input): \(first ? "pass" : "stay") → \(later ? "pass" : "stay")")
            }
        }
        // Who comes to an open gate may be through before it closes.
        lines.removeAll { $0.hasPrefix("open, close") }
        #expect(
            lines == [
                "waiting, open: pass → pass", "waiting, close: stay → stay", "open, open: pass → pass",
                "closed, open: stay → stay", "closed, close: stay → stay",
            ])
    }

    private actor Value {
        private(set) var number = 0
        func set(_ new: Int) { number = new }
    }

    @Test("one at a time through a turnstile: reading, waiting and writing is one step")
    func turnstile() async throws {
        let turnstile = Turnstile()
        let value = Value()
        await withDiscardingTaskGroup { group in
            for _ in 0..<100 {
                group.addTask {
                    await turnstile.pass {
                        let read = await value.number
                        await Task.yield()
                        await value.set(read + 1)
                    }
                }
            }
        }
        #expect(await value.number == 100)
    }

    @Test("a time limit cancels what takes too long and returns when it is gone")
    func timeLimit() async throws {
        let loop = try EventLoop(name: "limit")
        defer { loop.stop() }
        let gate = Gate()
        let limited = await withTimeLimit(.milliseconds(1), on: loop) { await gate.passed() }
        #expect(limited.isLate && !limited.value)
        #expect(gate.waiterCount == 0)
        let quick = await withTimeLimit(.seconds(60), on: loop) { true }
        #expect(!quick.isLate && quick.value)
    }
}

extension Gate {
    /// Returns when so many wait.
    fileprivate func isReached(by count: Int) async {
        while waiterCount < count { await Task.yield() }
    }
}
