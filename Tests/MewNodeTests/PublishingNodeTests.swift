import MewBase
import MewIdentity
import MewLoop
import MewLookup
import MewNode
import MewRelay
import MewSim
import MewTestSupport
import MewWire
import Testing

/// A node with several relays, and a third one that knows nothing but its ID and some relay. On the simulated network, the relays
/// beside it.
@Suite("Nodes tell where they are, and are found after their relay has died")
struct PublishingNodeTests {
    private let home: RelayURL
    private let other: RelayURL
    /// Known to everybody, and farthest away in the user's order: nobody is connected to it.
    private let board: RelayURL

    init() throws {
        home = try RelayURL("http://home.test/")
        other = try RelayURL("http://other.test/")
        board = try RelayURL("http://board.test/")
    }

    private func withStage(
        known: [RelayURL], offers: [ApplicationProtocol] = [.native], _ body: (SeekerStage) throws -> Void
    ) throws {
        let all = [home, other, board]
        try SeekerStage.with(
            .init(relays: all, homes: all, known: known, offers: offers, publishes: true, settling: .seconds(3)), body)
    }

    @Test("a node keeps two relays and publishes at all it was given which two")
    func publishes() throws {
        try withStage(known: []) { stage in
            let roles = try stage.roles()
            #expect(roles == [.home, .standby, .spare])
            for relay in [home, other, board] { #expect(stage.published(at: relay) == [home, other]) }
            #expect(try stage.publications() == 3)
        }
    }

    @Test("a home that dies is replaced and no longer told; its place among the legs goes to the third relay")
    func rehoming() throws {
        try withStage(known: []) { stage in
            stage.relays[home].set(down: true)
            try stage.world.run(for: .seconds(4))
            #expect(stage.published(at: other) == [other])
            #expect(stage.published(at: board) == [other])
            #expect(try stage.roles() == [.standby, .home, .spare])
            try stage.world.run(for: .seconds(4))
            #expect(stage.published(at: board) == [other, board])
            #expect(try stage.roles() == [.spare, .home, .standby])
            // It comes back, and is not taken back for a minute.
            stage.relays[home].set(down: false)
            try stage.world.run(for: .seconds(50))
            #expect(try stage.roles() == [.spare, .home, .standby])
        }
    }

    @Test(
        "a home that has lost its place keeps its leg as long as a connection of somebody who is not told of the new one runs on it, and not much longer"
    )
    func formerHome() throws {
        try withStage(known: [], offers: [.stock]) { stage in
            stage.relays[home].set(down: true)
            try stage.world.run(for: .seconds(8))
            stage.relays[home].set(down: false)
            try stage.world.run(for: .seconds(20))
            #expect(try stage.roles() == [.spare, .home, .standby])
            let (near, target) = (
                stage.near, DialTarget(node: stage.far.node, addresses: [], relays: [home.description])
            )
            let link = try stage.world.run(on: stage.nearMachine) { try await near.dial(target) }
            let channel = try stage.world.run(on: stage.nearMachine) { try await link.openChannel() }
            func isThere() -> Bool { stage.relays[home].nodes.contains(stage.far.node) }
            for _ in 0..<6 {
                try stage.world.run(for: .seconds(30))
                #expect(isThere())
                let path = try stage.world.run(on: stage.nearMachine) {
                    try await channel.send([7])
                    #expect(try await channel.receive() == [7])
                    return await link.status().path
                }
                try #require(path == .relay(url: home.description))
            }
            try stage.world.run(on: stage.nearMachine) { await link.close(code: .done, reason: "") }
            try stage.world.run(for: .seconds(130))
            #expect(!isThere())
        }
    }

    @Test("a dialler of ours at a former home is told where home is now when it offers its addresses, and goes there")
    func followsHome() throws {
        try withStage(known: []) { stage in
            stage.relays[home].set(down: true)
            try stage.world.run(for: .seconds(8))
            stage.relays[home].set(down: false)
            try stage.world.run(for: .seconds(20))
            let (near, target) = (
                stage.near, DialTarget(node: stage.far.node, addresses: [], relays: [home.description])
            )
            let link = try stage.world.run(on: stage.nearMachine) { try await near.dial(target) }
            try stage.world.run(for: .seconds(30))
            #expect(
                try stage.world.run(on: stage.nearMachine) { await link.status().path }
                    == .relay(url: other.description))
        }
    }

    @Test("a relay that restarts and has forgotten everything is told again")
    func restartedRelay() throws {
        try withStage(known: []) { stage in
            stage.relays[other].set(down: true)
            stage.relays[other][record: stage.far.node] = nil
            try stage.world.run(for: .seconds(1))
            stage.relays[other].set(down: false)
            try stage.world.run(for: .seconds(3))
            #expect(stage.published(at: other) == [home, other])
        }
    }

    @Test("what is published again is signed anew: the same bytes could be anybody's, and a relay does not count them")
    func signedAnew() throws {
        try withStage(known: []) { stage in
            func timestamp() throws -> UInt64 { try #require(stage.relays[other][record: stage.far.node]).timestamp }
            let first = try timestamp()
            try stage.world.run(for: PublicationPlan.refresh)
            let second = try timestamp()
            #expect(second > first)
            stage.relays[other].set(down: true)
            try stage.world.run(for: .seconds(1))
            stage.relays[other].set(down: false)
            try stage.world.run(for: .seconds(3))
            #expect(try timestamp() > second)
        }
    }

    @Test(
        "after the home relay has died, a third node that knows only the node ID and both relays reaches it within 15 s",
        arguments: [0, 1, 2, 4, 6, 20] as [Int64])
    func thirdNode(after seconds: Int64) throws {
        try withStage(known: [home, other]) { stage in
            let died = stage.world.now
            stage.relays[home].set(down: true)
            try stage.world.run(for: .seconds(seconds))
            #expect(try stage.dial().get() == .relay(url: other.description))
            #expect(died.duration(to: stage.world.now) <= .seconds(seconds + 3))
        }
    }

    @Test("the same when the relay does not die but swallows everything", arguments: [0, 5, 30] as [Int64])
    func thirdNodeAndMuteRelay(after seconds: Int64) throws {
        try withStage(known: [home, other]) { stage in
            stage.relays[home].set(mute: true)
            try stage.world.run(for: .seconds(seconds))
            let began = stage.world.now
            #expect(try stage.dial().get() == .relay(url: other.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(3))
        }
    }

    @Test("the same when it knows neither of the node's relays, but one that keeps the record")
    func thirdNodeReadsRecord() throws {
        try withStage(known: [board]) { stage in
            let died = stage.world.now
            stage.relays[home].set(down: true)
            let path = try stage.dial().get()
            #expect(path == .relay(url: other.description))
            #expect(died.duration(to: stage.world.now) <= .seconds(15))
        }
    }

    @Test("a node that remembers only the dead home finds the other relay through the record")
    func rememberedHome() throws {
        try withStage(known: [board]) { stage in
            stage.relays[home].set(down: true)
            try stage.world.run(for: .seconds(4))
            let began = stage.world.now
            #expect(try stage.dial(by: [home]).get() == .relay(url: other.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(4))
        }
    }

    @Test("a copy of the identity at the same relay is noticed by the one that was there first")
    func twoPlaces() throws {
        try withStage(known: []) { stage in
            #expect(try !stage.isSuperseded())
            stage.relays[home].tell(.status(.sameNodeConnectedElsewhere))
            try stage.world.run(for: .seconds(1))
            #expect(try stage.isSuperseded())
            stage.relays[home].tell(.status(.healthy))
            try stage.world.run(for: .seconds(1))
            #expect(try !stage.isSuperseded())
        }
    }
}

extension SeekerStage {
    fileprivate func homeRelays() throws -> [HomeRelay] {
        let far = far
        return try world.run(on: farMachine) { await far.homeRelays() }
    }

    fileprivate func roles() throws -> [HomeRelay.Role] { try homeRelays().map { $0.role } }

    fileprivate func isSuperseded() throws -> Bool { try homeRelays().contains { $0.status?.isSuperseded == true } }

    /// At how many relays it has published, as it thinks.
    fileprivate func publications() throws -> Int {
        try homeRelays().count { if case .published = $0.record { true } else { false } }
    }

    /// What strangers read at `relay`.
    fileprivate func published(at relay: RelayURL) -> [RelayURL]? { relays[relay][record: far.node]?.record.relays }
}
