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

    static let all: [Cut] = [
        Cut(talk: .both, toFar: true, toNear: true, name: "both ways, both talk"),
        Cut(talk: .nearOnly, toFar: true, toNear: true, name: "both ways, the dialler talks"),
        Cut(talk: .both, toFar: false, toNear: true, name: "to the dialler, both talk"),
        Cut(talk: .farOnly, toFar: true, toNear: true, name: "both ways, the listener talks"),
        Cut(talk: .both, toFar: true, toNear: false, name: "to the listener, both talk"),
        Cut(talk: .farOnly, toFar: false, toNear: true, name: "to the dialler, the listener talks"),
        Cut(talk: .nearOnly, toFar: true, toNear: false, name: "to the listener, the dialler talks"),
    ]
}

@Suite("Laws of the paths")
struct PathLawTests {
    @Test(
        "a direct path that falls silent gives way to the relay within 3 s, on the same link",
        arguments: Cut.all,
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

    /// Bytes of the largest IPv4 packet that arrives, 28 of them headers; every path of QUIC carries 1200 (RFC 9000 §14).
    @Test(
        "a direct path that does not pass 1200 bytes of QUIC any more gives way to the relay, one that does stays",
        arguments: [600, 1_000, 1_227, 1_228, 1_260], 0..<4)
    func sizeBlackHole(bytes: Int, seed: Int) throws {
        var plan = SimStage.Plan().wired(by: UInt64(seed))
        plan.talk.bytes = 4_000
        try withSimStage(seed: UInt64(seed), plan) { stage in
            try stage.dial()
            try stage.world.run(until: { stage.isDirect }, limit: .seconds(20))
            try stage.world.run(for: .seconds(5))
            stage.narrowDirect(to: bytes)
            let time = try stage.recover(from: stage.world.now, within: .seconds(30))
            #expect(try #require(time) <= .seconds(5))
            try stage.world.run(for: .seconds(30))
            #expect(stage.isDirect == (bytes >= 1_200 + 28))
            #expect(stage.broken == nil)
        }
    }
}
