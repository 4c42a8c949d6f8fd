import MewBase
import MewSim
import MewSimNode
import MewWire
import Testing

/// What a seed's stage says while a direct path falls silent.
struct Cut: Sendable, CustomStringConvertible {
    let talk: Talk
    let toFar: Bool
    let toNear: Bool
    let name: String

    var description: String { name }

    /// Those that a dialler notices by itself: it hears nothing while something of its own is under way.
    static let noticed: [Cut] = [
        Cut(talk: .both, toFar: true, toNear: true, name: "both ways, both talk"),
        Cut(talk: .nearOnly, toFar: true, toNear: true, name: "both ways, the dialler talks"),
        Cut(talk: .both, toFar: false, toNear: true, name: "to the dialler, both talk"),
    ]
}

@Suite("Laws of the paths")
struct PathLawTests {
    @Test(
        "a direct path that falls silent gives way to the relay within 3 s, on the same link", arguments: Cut.noticed,
        0..<4
    )
    func silentPath(cut: Cut, seed: Int) throws {
        var plan = SimStage.Plan().wired(by: UInt64(seed))
        plan.talk = cut.talk
        try withSimStage(seed: UInt64(seed), plan) { stage in
            try stage.dial()
            try stage.world.run(until: { stage.isDirect }, limit: .seconds(20))
            try stage.world.run(for: .seconds(5))
            stage.cutDirect(toFar: cut.toFar, toNear: cut.toNear)
            let time = try stage.recover(from: stage.world.now, within: .seconds(30))
            #expect(try #require(time) <= .seconds(3))
            #expect(stage.broken == nil)
        }
    }
}
