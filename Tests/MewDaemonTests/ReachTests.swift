import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

@Suite("Where a daemon can be found", .timeLimit(.minutes(1)))
struct ReachTests {
    private static func reach(_ counter: UInt64) -> DaemonMessage.Reach {
        .init(counter: counter, relays: ["https://relay.test/"], addresses: ["192.0.2.7:4433"])
    }

    private static func next(_ channel: TestChannel) async throws -> DaemonMessage.Reach? {
        while let message = try await channel.message() {
            if case .reach(let reach) = message { return reach }
        }
        return nil
    }

    @Test("a device is told when it has entered, and whenever it changes")
    func told() async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.laptop)]) { bench in
            await bench.daemon.announce(Self.reach(1))
            let channel = try await bench.connect(Pairing.laptop)
            try await channel.enter()
            #expect(try await Self.next(channel) == Self.reach(1))
            await bench.daemon.announce(Self.reach(2))
            #expect(try await Self.next(channel) == Self.reach(2))
        }
    }

    @Test("an announcement that comes late changes nothing")
    func late() async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.laptop)]) { bench in
            let channel = try await bench.connect(Pairing.laptop)
            try await channel.enter()
            for counter: UInt64 in [5, 4, 5, 6] { await bench.daemon.announce(Self.reach(counter)) }
            // What is told to whoever enters may be what was just told to everybody.
            var counters: [UInt64] = []
            while counters.last != 6, let reach = try await Self.next(channel) { counters.append(reach.counter) }
            #expect(Set(counters) == [5, 6])
            #expect(counters == counters.sorted())
        }
    }

    @Test("a stock device is told nothing: it does not know the message")
    func stock() async throws {
        try await DaemonBench.with(devices: [DaemonBench.device(Pairing.laptop)]) { bench in
            await bench.daemon.announce(Self.reach(1))
            let channel = try await bench.connect(Pairing.laptop, .stock)
            try await channel.hello()
            try await channel.send(.ping)
            var kinds: [DaemonMessage.Kind] = []
            while let message = try await channel.message() {
                kinds.append(message.kind)
                if case .pong = message { break }
            }
            #expect(!kinds.contains(.reach))
        }
    }

    @Test("numbers are microseconds of the clock, and grow when the clock does not")
    func numbers() {
        #expect(ReachCounter.next(after: 0, wallMilliseconds: 1_700_000_000_000) == 1_700_000_000_000_000)
        let clock: UInt64 = 1_700_000_000_000_000
        #expect(ReachCounter.next(after: clock, wallMilliseconds: 1_700_000_000_000) == clock + 1)
        #expect(ReachCounter.next(after: clock, wallMilliseconds: 1_600_000_000_000) == clock + 1)
        #expect(ReachCounter.next(after: 7, wallMilliseconds: .max) == 8, "a clock that is certainly wrong")
    }

    @Test("numbers go on after a restart, and a damaged file does not stop them")
    func kept() async throws {
        let scratch = ScratchDirectory()
        let loop = try BlockingLoop(name: "test")
        defer { loop.stop() }
        let directory = try StateDirectory.open(scratch("state"))
        func counter() -> ReachCounter {
            ReachCounter(directory, wall: FixedWallClock(), loop: loop, diagnostics: NoDiagnostics())
        }
        let first = await counter().next()
        let second = await counter().next()
        #expect(second == first + 1)
        try directory.files.write(Array("rubbish".utf8), to: StateDirectory.Name.reach, entropy: SystemEntropy())
        #expect(await counter().next() == first)
    }
}
