import MewBase
import MewIdentity
import MewLoop
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// The clocks of the daemon, in virtual time: what happens at the last instant and what one step later.
@Suite("Time limits of the daemon")
struct DaemonTimeTests {
    /// Runs `body` on the one machine of a simulated world.
    private func simulate(
        devices: [Device] = [], _ body: @escaping @Sendable (DaemonBench) async throws -> Void
    ) throws {
        try withSimWorld(seed: 11) { world in
            let node = world.addNode("desk")
            try world.run(on: node) {
                let bench = try await DaemonBench(loop: node.loop, devices: devices)
                try await body(bench)
                await bench.end()
            }
        }
    }

    private func elapsed(_ bench: DaemonBench, since start: Instant) -> Duration { start.duration(to: bench.loop.now) }

    @Test("a stranger that says nothing is closed after ten seconds, a known device too")
    func silence() throws {
        try simulate(devices: [DaemonBench.device(Pairing.phone)]) { bench in
            _ = try await bench.window()
            let start = bench.loop.now
            let stranger = try await bench.dial(Pairing.stranger)
            _ = try await stranger.open()
            #expect(await stranger.link.closed() == .peer(.unauthorized, reason: "unauthorized"))
            #expect(elapsed(bench, since: start) == .seconds(10))
            let phone = try await bench.dial(Pairing.phone)
            #expect(
                await phone.link.closed()
                    == .peer(.protocolViolation, reason: "nothing was said within 10 s"))
            #expect(elapsed(bench, since: start) == .seconds(20))
        }
    }

    @Test("a knock waits until the window closes, not for ten seconds; the screen is told that the time is over")
    func knockWaits() throws {
        try simulate { bench in
            let screen = try await bench.window()
            let start = bench.loop.now
            let laptop = try await bench.connect(Pairing.laptop)
            try await laptop.hello()
            guard case .pairPending? = try await laptop.message() else { return fail("not pending") }
            guard case .knock? = await screen.next() else { return fail("no knock") }
            guard case .error(let error)? = try await laptop.message() else { return fail("no reason") }
            #expect(error.message == PairingWindow.Refusal.windowClosed.sentence)
            #expect(await screen.next() == .expired)
            #expect(await screen.next() == nil)
            #expect(elapsed(bench, since: start) >= .seconds(120))
            #expect(elapsed(bench, since: start) < .milliseconds(120_001))
        }
    }

    @Test("knocks come to the screen one a second")
    func knocksArePaced() throws {
        try simulate { bench in
            let screen = try await bench.window()
            let start = bench.loop.now
            for number in 1...3 {
                let channel = try await bench.connect(Pairing.numberedNode(number))
                try await channel.hello()
                _ = try await channel.message()
            }
            for second in 0..<3 {
                guard case .knock? = await screen.next() else { return fail("no knock") }
                #expect(elapsed(bench, since: start) == .seconds(second))
            }
        }
    }

    @Test("from the sixth wrong code of a source on, the refusals come one a second")
    func slowSource() throws {
        try simulate { bench in
            _ = try await bench.window()
            let start = bench.loop.now
            for number in 1...8 {
                let channel = try await bench.connect(Pairing.numberedNode(number))
                try await channel.hello(token: "mew_01K4SJKHR00000000000T0KEN1")
                guard case .error? = try await channel.message() else { return fail("no refusal") }
                await channel.link.close(code: .done, reason: "")
                #expect(elapsed(bench, since: start) == .seconds(max(0, number - 5)))
            }
        }
    }

    @Test("a revoked peer that reads nothing is closed within the second all the same")
    func revocationIsQuick() throws {
        try simulate(devices: [DaemonBench.device(Pairing.phone)]) { bench in
            let phone = try await bench.connect(Pairing.phone)
            try await phone.enter()
            let start = bench.loop.now
            _ = try await bench.daemon.revoke(Pairing.phone)
            _ = await phone.link.closed()
            #expect(elapsed(bench, since: start) == .milliseconds(250))
        }
    }
}
