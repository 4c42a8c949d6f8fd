import MewBase
import MewSim
import MewSimNode
import MewWire
import Testing

/// A direct path that carries small packets only, from some moment on: a tunnel came into the way.
struct Narrowing: Sendable, CustomStringConvertible {
    let toFar: Bool
    let toNear: Bool
    let name: String

    var description: String { name }

    static let all = [
        Narrowing(toFar: true, toNear: true, name: "both ways"),
        Narrowing(toFar: true, toNear: false, name: "to the listener"),
        Narrowing(toFar: false, toNear: true, name: "to the dialler"),
    ]
}

@Suite("Laws of paths for small packets only")
struct SizeLawTests {
    /// Each message fills several packets of the largest size.
    private static let talk = Talk(near: .milliseconds(100), far: .milliseconds(100), bytes: 6_000)

    private func plan(_ seed: Int) -> SimStage.Plan {
        var plan = SimStage.Plan().wired(by: UInt64(seed))
        plan.talk = Self.talk
        return plan
    }

    @Test(
        "when large packets vanish, data flows again within 5 s, and the connection stays or becomes direct",
        arguments: Narrowing.all, 0..<4)
    func largePacketsVanish(narrowing: Narrowing, seed: Int) throws {
        try withSimStage(seed: UInt64(seed), plan(seed)) { stage in
            try stage.dial()
            try stage.world.run(until: { stage.isDirect }, limit: .seconds(20))
            try stage.world.run(for: .seconds(10))
            stage.narrowDirect(to: 1_300, toFar: narrowing.toFar, toNear: narrowing.toNear)
            let event = stage.world.now
            let time = try stage.recover(from: event, within: .seconds(60))
            #expect(try #require(time) <= .seconds(5))
            try stage.world.run(for: .seconds(30))
            #expect(stage.isDirect)
            #expect(stage.broken == nil)
            #expect(stage.conversation.paths.filter { $0.time > event }.count <= 2)
        }
    }

    @Test(
        "a path for small packets that is there for 30 s and gone for 30 s is used ever more seldom, and data always flows",
        arguments: 0..<2)
    func comesAndGoes(seed: Int) throws {
        var plan = plan(seed)
        // What the slowest of these relays carries twice over.
        plan.talk.bytes = 1_500
        try withSimStage(seed: UInt64(seed), plan) { stage in
            try stage.dial()
            stage.narrowDirect(to: 1_300)
            try stage.world.run(until: { stage.isDirect }, limit: .seconds(60))
            let began = stage.world.now
            for _ in 0..<10 {
                stage.cutDirect()
                try stage.world.run(for: .seconds(30))
                stage.healDirect()
                stage.narrowDirect(to: 1_300)
                try stage.world.run(for: .seconds(30))
            }
            let end = stage.world.now
            for delivery in [stage.conversation.toFar, stage.conversation.toNear] {
                let longest = delivery.longestDelay(sentBefore: end.advanced(by: .seconds(-3)), now: end)
                #expect(longest <= .seconds(3))
            }
            let changes = stage.conversation.paths.filter { $0.time > began }
            #expect(changes.count <= 8, "each is seen on the screen")
            let waits = zip(changes, changes.dropFirst()).filter { !$0.0.path.isDirect }
                .map { $0.0.time.duration(to: $0.1.time) }
            #expect(waits == waits.sorted() && !waits.isEmpty)
            #expect(changes.last?.path.isDirect == false)
            #expect(stage.broken == nil)
        }
    }

    @Test("a path that is too narrow for a full probe carries nothing for long: the relay does", arguments: 0..<4)
    func tooNarrow(seed: Int) throws {
        try withSimStage(seed: UInt64(seed), plan(seed)) { stage in
            try stage.dial()
            try stage.world.run(until: { stage.isDirect }, limit: .seconds(20))
            try stage.world.run(for: .seconds(10))
            stage.narrowDirect(to: 700)
            let event = stage.world.now
            let time = try stage.recover(from: event, within: .seconds(60))
            #expect(try #require(time) <= .seconds(6))
            try stage.world.run(for: .seconds(60))
            #expect(!stage.isDirect)
            #expect(stage.broken == nil)
            #expect(stage.conversation.paths.filter { $0.time > event }.count == 1)
        }
    }
}

extension LinkPath {
    fileprivate var isDirect: Bool { if case .direct = self { true } else { false } }
}
