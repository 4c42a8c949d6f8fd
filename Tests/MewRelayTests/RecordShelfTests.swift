import MewBase
import MewIdentity
import MewWire
import Testing

@testable import MewRelay

private let start = Instant(nanoseconds: 1_000_000_000_000)

@Suite("Address records a relay keeps")
struct RecordShelfTests {
    private let source = SourceBudget.Source(SocketAddress(ipv4: 0xc000_0201, port: 1))
    private let elsewhere = SourceBudget.Source(SocketAddress(ipv4: 0xc000_0301, port: 1))

    private func record(_ seed: UInt16, timestamp: UInt64 = 1, address: String = "192.0.2.1:1") throws -> SignedRecord {
        let secret = try #require(
            SecretKey(seed: [UInt8(seed >> 8), UInt8(seed & 255)] + [UInt8](repeating: 0, count: 30)))
        let record = AddressRecord(relays: [], addresses: [try #require(SocketAddress(address))])
        return SignedRecord(record, timestamp: timestamp, secret: secret)
    }

    @Test("a newer record takes the place of an older one, and not the other way round")
    func newest() throws {
        var shelf = RecordShelf(capacity: 10, lifetime: .seconds(60))
        let (old, new) = (try record(1, timestamp: 1), try record(1, timestamp: 2))
        #expect(shelf.store(old, from: source, now: start) == .stored)
        #expect(shelf.store(new, from: source, now: start) == .stored)
        #expect(shelf.store(old, from: source, now: start) == .kept)
        #expect(shelf.find(old.node, now: start) == new)
        #expect(shelf.count == 1)
    }

    @Test("a record lives so long after its node last signed one, and not a moment longer, whoever puts the same again")
    func lifetime() throws {
        var shelf = RecordShelf(capacity: 10, lifetime: .seconds(60))
        let (old, new) = (try record(1, timestamp: 1), try record(1, timestamp: 2))
        _ = shelf.store(old, from: source, now: start)
        let later = start.advanced(by: .seconds(50))
        #expect(shelf.store(new, from: source, now: later) == .stored)
        let (last, gone) = (later.advanced(by: .seconds(60)), later.advanced(by: .seconds(60) + .nanoseconds(1)))
        for replayer in [elsewhere, source] { #expect(shelf.store(new, from: replayer, now: last) == .kept) }
        #expect(shelf.find(new.node, now: last) == new)
        #expect(shelf.find(new.node, now: gone) == nil)
        #expect(shelf.count == 0)
    }

    /// Uses up the share of `source` with records of its own.
    private func useUpShare(_ shelf: inout RecordShelf, of source: SourceBudget.Source, seeds: UInt16) throws {
        for seed in 0..<UInt16(RelayLimits().recordsPerSource) {
            _ = shelf.store(try record(seeds + seed), from: source, now: start)
        }
    }

    @Test("who puts a node's record again and then uses up its own share takes nothing from the node")
    func replay() throws {
        var shelf = RecordShelf(capacity: 10_000, lifetime: .seconds(60))
        let victim = try record(60_000)
        _ = shelf.store(victim, from: source, now: start)
        try useUpShare(&shelf, of: elsewhere, seeds: 0)
        #expect(shelf.store(victim, from: elsewhere, now: start) == .kept)
        try useUpShare(&shelf, of: elsewhere, seeds: 1_000)
        #expect(shelf.find(victim.node, now: start) == victim)
        #expect(shelf.count == 1 + RelayLimits().recordsPerSource)
    }

    @Test(
        "nor when it puts it first, having it from another relay: the node's own claim comes with its own",
        arguments: [1, 2] as [UInt64])
    func putFirst(ownTimestamp: UInt64) throws {
        var shelf = RecordShelf(capacity: 10_000, lifetime: .seconds(60))
        _ = shelf.store(try record(60_000), from: elsewhere, now: start)
        let own = try record(60_000, timestamp: ownTimestamp)
        _ = shelf.store(own, from: source, now: start)
        try useUpShare(&shelf, of: elsewhere, seeds: 0)
        #expect(shelf.find(own.node, now: start) == own)
    }

    @Test("nor when it brings the node's newer record before the node does")
    func newerFirst() throws {
        var shelf = RecordShelf(capacity: 10_000, lifetime: .seconds(60))
        _ = shelf.store(try record(60_000), from: source, now: start)
        let newer = try record(60_000, timestamp: 2)
        #expect(shelf.store(newer, from: elsewhere, now: start) == .stored)
        try useUpShare(&shelf, of: elsewhere, seeds: 0)
        #expect(shelf.find(newer.node, now: start) == newer)
    }

    @Test("a node that goes to another network has a claim there too, and the old one's neighbours do not push it out")
    func roaming() throws {
        var shelf = RecordShelf(capacity: 10_000, lifetime: .seconds(60))
        _ = shelf.store(try record(60_000), from: elsewhere, now: start)
        let newer = try record(60_000, timestamp: 2)
        _ = shelf.store(newer, from: source, now: start)
        try useUpShare(&shelf, of: elsewhere, seeds: 0)
        #expect(shelf.find(newer.node, now: start) == newer)
        try useUpShare(&shelf, of: source, seeds: 1_000)
        #expect(shelf.find(newer.node, now: start) == nil, "nobody is left who has a claim on it")
    }

    @Test(
        "claims are bounded: the same again gets none beyond the bound, a newer one takes the place of the oldest claim"
    )
    func claimBound() throws {
        let networks = (1...UInt32(RecordShelf.maxClaims)).map {
            SourceBudget.Source(SocketAddress(ipv4: 0xc633_6400 + $0 << 8, port: 1))
        }
        for (ownTimestamp, isFound) in [(UInt64(1), false), (2, true)] {
            var shelf = RecordShelf(capacity: 10_000, lifetime: .seconds(60))
            for network in networks { _ = shelf.store(try record(60_000), from: network, now: start) }
            let own = try record(60_000, timestamp: ownTimestamp)
            _ = shelf.store(own, from: source, now: start)
            for (number, network) in networks.enumerated() {
                try useUpShare(&shelf, of: network, seeds: UInt16(number) * 1_000)
            }
            #expect((shelf.find(own.node, now: start) != nil) == isFound)
            #expect(shelf.count == networks.count * RelayLimits().recordsPerSource + (isFound ? 1 : 0))
        }
    }

    @Test("when it is full the oldest goes")
    func capacity() throws {
        var shelf = RecordShelf(capacity: 3, lifetime: .seconds(60))
        let records = try (1...4).map { try record($0) }
        for record in records { _ = shelf.store(record, from: source, now: start) }
        #expect(shelf.count == 3)
        #expect(shelf.find(records[0].node, now: start) == nil)
        #expect(shelf.find(records[1].node, now: start) != nil)
    }

    @Test("one source has its share and pushes out its own")
    func share() throws {
        var shelf = RecordShelf(capacity: 10_000, lifetime: .seconds(60))
        let other = try record(60_000)
        _ = shelf.store(other, from: elsewhere, now: start)
        let share = RelayLimits().recordsPerSource
        let records = try (0...UInt16(share)).map { try record($0) }
        for record in records { _ = shelf.store(record, from: source, now: start) }
        #expect(shelf.count == share + 1)
        #expect(shelf.find(records[0].node, now: start) == nil)
        #expect(shelf.find(records[1].node, now: start) != nil)
        #expect(shelf.find(other.node, now: start) != nil)
    }
}

@Suite("Nodes by age")
struct AgeListTests {
    private func node(_ number: UInt8) throws -> NodeID {
        try #require(NodeID(bytes: [number] + [UInt8](repeating: 0, count: 31)))
    }

    @Test("whatever is taken out, the rest keeps its order")
    func order() throws {
        for removed in UInt8(1)...4 {
            var list = AgeList()
            for number in UInt8(1)...4 { list.append(try node(number)) }
            list.remove(try node(removed))
            list.remove(try node(9))
            var seen: [NodeID] = []
            while let oldest = list.oldest {
                seen.append(oldest)
                list.remove(oldest)
            }
            #expect(try seen == (UInt8(1)...4).filter { $0 != removed }.map(node))
            #expect(list.count == 0)
            list.append(try node(7))
            #expect(try list.oldest == node(7))
        }
    }

    @Test("it has as many links as nodes, however often they are stored again behind one that stays")
    func links() throws {
        var list = AgeList()
        list.append(try node(0))
        for round in 0..<100_000 {
            let again = try node(UInt8(1 + round % 200))
            list.remove(again)
            list.append(again)
        }
        #expect(list.count == 201)
        #expect(try list.oldest == node(0))
    }
}

@Suite("Probes for address discovery")
struct VersionNegotiationTests {
    private func answer(_ bytes: [UInt8]) -> [UInt8]? { bytes.withUnsafeBytes { VersionNegotiation.answer(to: $0) } }

    private func initial(_ byteCount: Int) -> [UInt8] {
        let head: [UInt8] = [0xc0, 0, 0, 0, 1, 3, 0xd1, 0xd2, 0xd3, 2, 0x51, 0x52]
        return head + [UInt8](repeating: 0, count: byteCount - head.count)
    }

    @Test("a first packet is told that there is no version for it, with its identifiers swapped")
    func reply() {
        #expect(
            answer(initial(1_200))
                == [0xc0, 0, 0, 0, 0, 2, 0x51, 0x52, 3, 0xd1, 0xd2, 0xd3, 0x1a, 0x2a, 0x3a, 0x4a])
    }

    @Test("what is shorter, has a short header, negotiates itself or has long identifiers gets nothing")
    func silence() {
        #expect(answer(initial(1_199)) == nil)
        var short = initial(1_200)
        short[0] = 0x40
        #expect(answer(short) == nil)
        var negotiation = initial(1_200)
        negotiation.replaceSubrange(1..<5, with: [0, 0, 0, 0])
        #expect(answer(negotiation) == nil)
        for index in [5, 9] {
            var long = initial(1_200)
            long[index] = 21
            #expect(answer(long) == nil)
        }
    }
}
