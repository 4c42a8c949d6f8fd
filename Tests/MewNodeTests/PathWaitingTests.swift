import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewSim
import MewTestSupport
import MewWire
import Synchronization
import Testing

/// One who wants to know why a link is not direct, as `mew status` does, on the simulated network with the relay beside it.
@Suite("Who waits for what becomes of a link's path")
struct PathWaitingTests {
    private let relay: RelayURL

    init() throws {
        relay = try RelayURL("http://home.test/")
    }

    private func withStage(_ body: (SeekerStage, DialTarget) throws -> Void) throws {
        try SeekerStage.with(.init(relays: [relay], homes: [relay], known: [])) { stage in
            let address = stage.farMachine.address(port: 4_000)
            try body(
                stage, DialTarget(node: stage.far.node, addresses: [address], relays: [relay.description]))
        }
    }

    @Sendable private static func isKnown(_ status: LinkStatus) -> Bool { status.whyNotDirect?.code != .checking }

    @Test("hears it in the moment in which the keeper has decided, without asking again and again")
    func decided() throws {
        try withStage { stage, target in
            stage.world.changeLinks { $0.isDown = true }
            let (near, loop) = (stage.near, Lent(stage.nearMachine.loop))
            let link = try stage.world.run(on: stage.nearMachine) { try await near.dial(target) }
            let notes = Notes()
            stage.nearMachine.loop.spawn {
                let status = await link.status { status in
                    notes.change { $0.asked += 1 }
                    return Self.isKnown(status)
                }
                notes.change { ($0.time, $0.code) = (loop.value.now, status.whyNotDirect?.code) }
            }
            var known = false
            for _ in 0..<500 where !known {
                #expect(notes.current.time == nil)
                try stage.world.run(for: .milliseconds(10))
                known = try stage.world.run(on: stage.nearMachine) { Self.isKnown(await link.status()) }
            }
            try #require(known)
            let time = try #require(notes.current.time)
            #expect(notes.current.code == .noAnswer && time.duration(to: stage.world.now) <= .milliseconds(10))
            #expect(notes.current.asked <= 20, "that is polling")
            // What is so already is not waited for.
            let again = stage.world.now
            _ = try stage.world.run(on: stage.nearMachine) { await link.status(when: Self.isKnown) }
            #expect(again == stage.world.now)
        }
    }

    @Test("hears that the link has become direct")
    func becomesDirect() throws {
        try withStage { stage, target in
            stage.world.changeLinks { $0.isDown = true }
            let near = stage.near
            let link = try stage.world.run(on: stage.nearMachine) { try await near.dial(target) }
            stage.world.changeLinks { $0.isDown = false }
            let status = try stage.world.run(on: stage.nearMachine, limit: .seconds(15)) {
                await link.status { if case .direct = $0.path { true } else { false } }
            }
            #expect(status.path == .direct(target.addresses[0]) && status.whyNotDirect == nil)
        }
    }

    @Test("who gives up, and who waits at a link that ends, gets what there is")
    func givesUp() throws {
        try withStage { stage, target in
            stage.world.changeLinks { $0.isDown = true }
            let (near, loop) = (stage.near, Lent(stage.nearMachine.loop))
            let link = try stage.world.run(on: stage.nearMachine) { try await near.dial(target) }
            let began = stage.world.now
            let status = try stage.world.run(on: stage.nearMachine) {
                await withTimeLimit(.seconds(1), on: loop.value) { await link.status { _ in false } }
            }
            #expect(status.isLate && status.value.path == .relay(url: relay.description))
            #expect(began.duration(to: stage.world.now) == .seconds(1))
            let (last, present) = try stage.world.run(on: stage.nearMachine) {
                let waiting = loop.value.spawn { await link.status { _ in false } }
                await link.close(code: .done, reason: "")
                return (await waiting.value, await link.status())
            }
            #expect(last.path == .relay(url: relay.description) && last.path == present.path)
            #expect(last.whyNotDirect == present.whyNotDirect && last.relays == present.relays, "as it is at the end")
        }
    }

    /// What the one who waits has seen.
    private final class Notes: Sendable {
        struct Content {
            var asked = 0
            var time: Instant?
            var code: WhyNotDirect.Code?
        }

        private let content = Mutex(Content())

        var current: Content { content.withLock { $0 } }
        func change(_ body: (inout Content) -> Void) { content.withLock { body(&$0) } }
    }
}
