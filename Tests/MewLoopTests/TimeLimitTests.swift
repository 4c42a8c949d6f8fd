import MewBase
import MewLoop
import MewSim
import Testing

@Suite("Time limits")
struct TimeLimitTests {
    private enum Outcome: Error, Equatable {
        case gaveUp
        case timedOut
    }

    /// Takes so long, or heeds cancellation.
    private static func work(_ time: Duration, on loop: any Loop) async -> Result<String, Outcome> {
        (try? await LoopClock(loop).sleep(for: time)) == nil ? .failure(.gaveUp) : .success("done")
    }

    private static func run(_ time: Duration, within limit: Duration) throws -> (
        Limited<Result<String, Outcome>>, Duration
    ) {
        try withSimWorld(seed: 1) { world in
            let machine = world.addNode("machine")
            let loop = machine.loop
            let outcome = try world.run(on: machine) {
                await withTimeLimit(limit, on: loop) { await work(time, on: loop) }
            }
            return (outcome, SimWorld.start.duration(to: world.now))
        }
    }

    @Test("what is done in time is not late, and nobody waits for the rest of the time")
    func inTime() throws {
        let (outcome, elapsed) = try Self.run(.seconds(1), within: .seconds(2))
        #expect(outcome.value == .success("done") && !outcome.isLate)
        #expect(elapsed == .seconds(1))
    }

    @Test("when the time is up the work is cancelled, and its failure is called what it is")
    func late() throws {
        let (outcome, elapsed) = try Self.run(.seconds(3), within: .seconds(2))
        #expect(outcome.value == .failure(.gaveUp) && outcome.isLate)
        #expect(outcome.result(late: .timedOut) == .failure(.timedOut))
        #expect(elapsed == .seconds(2))
    }

    @Test("what is done a moment late is done")
    func doneLate() throws {
        try withSimWorld(seed: 1) { world in
            let machine = world.addNode("machine")
            let loop = machine.loop
            let outcome = try world.run(on: machine) {
                await withTimeLimit(.seconds(2), on: loop) { () -> Result<String, Outcome> in
                    _ = await Self.work(.seconds(3), on: loop)
                    return .success("done")
                }
            }
            #expect(outcome.isLate)
            #expect(outcome.result(late: .timedOut) == .success("done"))
        }
    }

    @Test("who is cancelled is not late")
    func cancelled() throws {
        try withSimWorld(seed: 1) { world in
            let machine = world.addNode("machine")
            let loop = machine.loop
            let outcome = try world.run(on: machine) {
                let task = loop.spawn {
                    await withTimeLimit(.seconds(5), on: loop) { await Self.work(.seconds(9), on: loop) }
                }
                try await LoopClock(loop).sleep(for: .seconds(1))
                task.cancel()
                return await task.value
            }
            #expect(outcome.value == .failure(.gaveUp) && !outcome.isLate)
            #expect(outcome.result(late: .timedOut) == .failure(.gaveUp))
            #expect(SimWorld.start.duration(to: world.now) == .seconds(1))
        }
    }
}
