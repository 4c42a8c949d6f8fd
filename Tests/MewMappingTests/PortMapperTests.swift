import Dispatch
import MewBase
import MewLoop
import MewMapping
import MewSim
import Synchronization
import Testing

private let outside = SocketAddress("198.51.100.7:4433")!  // a literal that is one

/// Routers that say what a test wants, and note what they are asked.
private final class ScriptedRouters: Routers {
    private struct State {
        var asked: [String] = []
        var answers: [Answer] = []
    }

    private let state = Mutex(State())

    /// The last one is given again and again.
    init(_ answers: [Answer]) { state.withLock { $0.answers = answers } }

    var asked: [String] { state.withLock { $0.asked } }

    private func answer(_ question: String) -> Answer {
        state.withLock { state in
            state.asked.append(question)
            return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
        }
    }

    func open(port: UInt16, external: UInt16) async -> Answer { answer("open \(external)") }
    func prolong(_ mapping: Mapping, port: UInt16) async -> Answer { answer("prolong \(mapping.external)") }
    func release(_ mapping: Mapping, port: UInt16) async {
        state.withLock { $0.asked.append("release \(mapping.external)") }
    }
}

@Suite("A port that is kept open at a router")
struct PortMapperTests {
    private static let mapping = Mapping(.natPMP, external: outside, lifetime: .seconds(7200), router: .gateway)

    @Test("it is opened at the start, asked for again, told when it changes, and given back at the stop")
    func life() throws {
        try withSimWorld(seed: 1) { world in
            let node = world.addNode("desk")
            let other = SocketAddress("198.51.100.9:1")!  // a literal that is one
            let moved = Mapping(.natPMP, external: other, lifetime: .seconds(7200), router: .gateway)
            let routers = ScriptedRouters([.failure(.noRouter), .success(Self.mapping), .success(moved)])
            let told = Mutex<[MappingPlan.Result]>([])
            let loop = node.loop
            let result = try world.run(on: node) {
                let mapper = PortMapper(port: 4433, on: loop, routers: routers) { result in
                    told.withLock { $0.append(result) }
                }
                await mapper.start()
                _ = await LoopClock(loop).pause(for: .seconds(400))
                let candidate = await mapper.candidate
                await mapper.stop()
                return candidate
            }
            #expect(result == other)
            #expect(told.withLock { $0 } == [.failed(.noRouter), .open(Self.mapping), .open(moved)])
            #expect(
                routers.asked == ["open 4433", "open 4433", "prolong \(outside)", "release \(other)"])
        }
    }

    @Test("a router that never answers does not hold up a stop")
    func slowRelease() throws {
        try withSimWorld(seed: 1) { world in
            let node = world.addNode("desk")
            let loop = node.loop
            let took = try world.run(on: node) {
                let mapper = PortMapper(port: 4433, on: loop, routers: DeafRouters(loop: loop)) { _ in }
                await mapper.start()
                _ = await LoopClock(loop).pause(for: .seconds(1))
                let began = loop.now
                await mapper.stop()
                return began.duration(to: loop.now)
            }
            #expect(took == PortMapper.patience)
        }
    }

    /// They open, and then fall silent.
    private struct DeafRouters: Routers {
        let loop: any Loop

        func open(port: UInt16, external: UInt16) async -> Answer { .success(PortMapperTests.mapping) }
        func prolong(_ mapping: Mapping, port: UInt16) async -> Answer { .failure(.noRouter) }
        func release(_ mapping: Mapping, port: UInt16) async { _ = await LoopClock(loop).pause(for: .seconds(3600)) }
    }
}

@Suite("A thread for what blocks", .timeLimit(.minutes(1)))
struct RouterThreadTests {
    @Test("what is asked is done in order, also after everything was done")
    func order() async {
        let thread = RouterThread()
        let done = Mutex<[Int]>([])
        for number in 0..<5 {
            let answer = await thread.run(otherwise: -1) {
                done.withLock { $0.append(number) }
                return number
            }
            #expect(answer == number)
        }
        #expect(done.withLock { $0 } == [0, 1, 2, 3, 4])
    }

    @Test("who is cancelled waits no longer, and the thread goes on")
    func cancelled() async {
        let thread = RouterThread()
        let gate = DispatchSemaphore(value: 0)
        let task = Task {
            await thread.run(otherwise: -1) {
                gate.wait()
                return 1
            }
        }
        task.cancel()
        #expect(await task.value == -1)
        gate.signal()
        #expect(await thread.run(otherwise: -1) { 2 } == 2)
    }
}
