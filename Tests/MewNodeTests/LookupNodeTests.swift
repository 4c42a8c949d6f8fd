import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewRelay
import MewSim
import MewTestSupport
import MewWire
import Testing

@Suite("Nodes are found by their ID alone")
struct LookupNodeTests {
    private let home: RelayURL
    private let other: RelayURL

    init() throws {
        home = try RelayURL("http://home.test/")
        other = try RelayURL("http://other.test/")
    }

    private func withStage(
        homes: [RelayURL], known: [RelayURL], _ body: (SeekerStage) throws -> Void
    ) throws {
        try SeekerStage.with(.init(relays: [home, other], homes: homes, known: known), body)
    }

    /// Says at `relay` that the far node is at `place`.
    private func publish(_ place: RelayURL, at relay: RelayURL, _ stage: SeekerStage, timestamp: UInt64 = 1) throws {
        let record = SignedRecord(
            AddressRecord(relays: [place]), timestamp: timestamp, secret: try SeekerStage.farSecret)
        stage.relays[relay][record: stage.far.node] = record
    }

    @Test("a record at a relay that is known leads to the relay where the node is")
    func foundByRecord() throws {
        try withStage(homes: [home], known: [other]) { stage in
            try publish(home, at: other, stage)
            let began = stage.world.now
            let path = try stage.dial().get()
            #expect(path == .relay(url: home.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(1))
        }
    }

    @Test("without any record, the node is dialled through the relays that are known")
    func foundAtKnownRelay() throws {
        try withStage(homes: [home], known: [other, home]) { stage in
            let began = stage.world.now
            let path = try stage.dial().get()
            #expect(path == .relay(url: home.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(2))
        }
    }

    @Test("a relay that is known and hangs does not keep the others from being used")
    func hangingRelay() throws {
        try withStage(homes: [home], known: [other, home]) { stage in
            stage.relays[other].set(mute: true)
            let began = stage.world.now
            let path = try stage.dial().get()
            #expect(path == .relay(url: home.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(2))
        }
    }

    @Test("a dial through a relay that the node has left reads the node's record and finds it at the other one")
    func staleRelay() throws {
        try withStage(homes: [home], known: []) { stage in
            // The old relay still answers, and knows where the node went.
            try publish(home, at: other, stage)
            let began = stage.world.now
            #expect(try stage.dial(by: [other]).get() == .relay(url: home.description))
            #expect(began.duration(to: stage.world.now) <= .seconds(3))
        }
    }

    @Test("of two records the newer one is believed; an older one found first costs nothing but a try")
    func newerRecord() throws {
        try withStage(homes: [home], known: [other, home]) { stage in
            try publish(other, at: other, stage, timestamp: 1)
            try publish(home, at: home, stage, timestamp: 2)
            let path = try stage.dial().get()
            #expect(path == .relay(url: home.description))
        }
    }

    @Test("a relay that nobody here named, and that admits no strangers, is not asked again and again")
    func refused() throws {
        try withStage(homes: [], known: [home]) { stage in
            stage.relays[home].serve(only: [])
            let began = stage.world.now
            guard case .failure(.unreachable(let attempts)) = try stage.dial() else {
                Issue.record("it was reached, or something else was said")
                return
            }
            #expect(attempts.map(\.relayFailure) == [.namedByOthers])
            #expect(began.duration(to: stage.world.now) <= .seconds(1))
            #expect(stage.relays[home].refusals == 1)
        }
    }

    @Test("a node that is nowhere is given up with every relay that was tried, at once when all of them say no")
    func nowhere() throws {
        for (isMute, limit) in [(false, Duration.seconds(4)), (true, .seconds(11))] {
            try nowhere(isMute: isMute, within: limit)
        }
    }

    /// One relay refuses connections, the other one does not know the node, or does not answer.
    private func nowhere(isMute: Bool, within limit: Duration) throws {
        try withStage(homes: [], known: [other, home]) { stage in
            stage.relays[other].set(down: true)
            stage.relays[home].set(mute: isMute)
            let began = stage.world.now
            let result = try stage.dial()
            guard case .failure(.unreachable(let attempts)) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(Set(attempts.map(\.route)) == [.relay(url: home.description), .relay(url: other.description)])
            #expect(began.duration(to: stage.world.now) <= limit)
        }
    }

    @Test("a node ID without any route and without any relay to ask is no route at all")
    func nothingKnown() throws {
        try withStage(homes: [home], known: []) { stage in
            #expect(throws: DialError.noRoute) {
                try stage.dial().get()
            }
        }
    }

    @Test("a good dial asks nobody")
    func goodDialAsksNobody() throws {
        try withStage(homes: [home], known: [other]) { stage in
            #expect(try stage.dial(by: [home]).get() == .relay(url: home.description))
            try stage.world.run(for: .seconds(5))
            #expect(stage.relays[other].requests == 0)
        }
    }
}
