import Glibc
import MewBase
import MewLoop
import MewSim
import Testing

/// A run that uses everything that must be repeatable, and a digest of all that happened in it.
private enum Mixture {
    struct Outcome: Equatable {
        let journal: [String]
        let trace: UInt64
        let packets: Int
    }

    static func run(seed: UInt64) throws -> Outcome {
        try withSimWorld(seed: seed) { world in
            world.changeLinks {
                $0.loss = 0.1
                $0.jitter = .milliseconds(20)
                $0.duplicates = 0.05
            }
            let log = Shared<[String]>([])
            let server = world.addNode("server")
            let serverTalker = try server.loop.enter { try Talker(node: server, port: 1) }
            let clients = (0..<4).map { world.addNode("client \($0)") }
            let done = Shared(0)
            for client in clients {
                let talker = try client.loop.enter { try Talker(node: client, port: 2) }
                client.loop.spawn {
                    await everything(talker, of: server.address(port: 1), on: client, log)
                    done.value += 1
                }
            }
            // One client is stopped for a while, one never comes back.
            world.plan(at: world.now.advanced(by: .milliseconds(30))) { clients[1].stop() }
            world.plan(at: world.now.advanced(by: .milliseconds(450))) { clients[1].resume() }
            world.plan(at: world.now.advanced(by: .milliseconds(70))) { clients[2].kill() }
            try world.run(until: { done.value == 4 })
            let journal = try world.run(on: server) { await serverTalker.journal }
            return Outcome(journal: log.value + journal, trace: world.trace.hash, packets: world.trace.count)
        }
    }

    /// Task groups, `async let`, streams, plain actors, continuations, clocks and cancellation.
    private static func everything(
        _ talker: Talker, of peer: SocketAddress, on node: SimNode, _ log: Shared<[String]>
    ) async {
        let plain = PlainActor()
        let clock: any Clock<Duration> = LoopClock(node.loop)
        let (stream, input) = AsyncStream<Int>.makeStream()
        async let listened = stream.reduce(0, +)
        await withTaskGroup(of: Void.self) { group in
            for number in UInt8(0)..<10 {
                group.addTask {
                    try? await clock.sleep(for: .milliseconds(Int(node.entropy.uint64() % 40)))
                    let isAnswered = await talker.ask(number, of: peer)
                    log.value.append("\(node.name): \(number) \(isAnswered) at \(node.world.now.nanoseconds)")
                    await plain.add(Int(number))
                    input.yield(Int(number))
                }
            }
        }
        input.finish()
        let hopeless = node.loop.spawn { await talker.ask(99, of: SocketAddress(ipv4: 0x0a00_00ff, port: 9)) }
        try? await clock.sleep(for: .milliseconds(250))
        hopeless.cancel()
        log.value.append("\(node.name): \(await hopeless.value) \(await listened) \(await plain.sum)")
        log.value += await talker.journal
    }

    private actor PlainActor {
        private(set) var sum = 0

        func add(_ number: Int) { sum += number }
    }

    static func digest(seeds: Range<UInt64>) throws -> UInt64 {
        var digest: UInt64 = 0
        for seed in seeds {
            let outcome = try run(seed: seed)
            digest = SeededGenerator.mix(digest ^ outcome.trace)
            for byte in outcome.journal.joined().utf8 { digest = SeededGenerator.mix(digest ^ UInt64(byte)) }
        }
        return digest
    }
}

@Suite("A seed decides the whole run")
struct DeterminismTests {
    @Test("the same seed gives the same journal and the same packets")
    func sameSeed() throws {
        for seed in UInt64(0)..<100 {
            let (first, second) = (try Mixture.run(seed: seed), try Mixture.run(seed: seed))
            #expect(first == second, "seed \(seed)")
            #expect(first.packets > 80)
        }
    }

    @Test("different seeds give different runs")
    func otherSeeds() throws {
        let hashes = Set(try (UInt64(0)..<100).map { try Mixture.run(seed: $0).trace })
        #expect(hashes.count == 100)
    }

    @Test("another process sees the same runs")
    func otherProcess() async throws {
        let here = "\(try Mixture.digest(seeds: 0..<40))"
        let child = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            print("digest=\(try Mixture.digest(seeds: 0..<40))")
        }
        let output = String(decoding: child?.standardOutputContent ?? [], as: UTF8.self)
        #expect(output.contains("digest=\(here)\n"))
    }

    @Test("a job that comes from another thread ends the process: code left the simulation")
    func leaving() async {
        await #expect(processExitsWith: .failure) {
            withSimWorld(seed: 1) { world in
                let node = Unmanaged.passUnretained(world.addNode("node"))
                var thread = pthread_t()
                pthread_create(
                    &thread, nil,
                    { context in
                        if let context { Unmanaged<SimNode>.fromOpaque(context).takeUnretainedValue().loop.post {} }
                        return nil
                    }, node.toOpaque())
                pthread_join(thread, nil)
            }
        }
    }
}
