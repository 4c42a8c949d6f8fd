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
