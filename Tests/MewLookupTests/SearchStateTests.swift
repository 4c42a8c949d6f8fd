import MewBase
import MewIdentity
import MewWire
import Testing

@testable import MewLookup

@Suite("What a search for a node has heard")
struct SearchStateTests {
    private let relays: [RelayURL]
    private let secret: SecretKey

    init() throws {
        relays = [try RelayURL("http://a.test/"), try RelayURL("http://b.test/")]
        secret = try #require(SecretKey(seed: [UInt8](repeating: 7, count: 32)))
    }

    private func record(_ relay: RelayURL, timestamp: UInt64) -> SignedRecord {
        SignedRecord(AddressRecord(relays: [relay]), timestamp: timestamp, secret: secret)
    }

    @Test("each record's routes are told as it comes, unless a newer record came before")
    func newerWins() {
        var search = SearchState(relays: relays)
        #expect(search.answered(record(relays[0], timestamp: 2)) == FoundRoutes(relays: [relays[0]]))
        #expect(search.answered(record(relays[1], timestamp: 1)) == nil)
        var other = SearchState(relays: relays)
        #expect(other.answered(record(relays[1], timestamp: 1)) == FoundRoutes(relays: [relays[1]]))
        #expect(other.answered(record(relays[0], timestamp: 2)) == FoundRoutes(relays: [relays[0]]))
    }

    @Test("the same record from a second relay is no news")
    func sameRecord() {
        var search = SearchState(relays: relays)
        #expect(search.answered(record(relays[0], timestamp: 2)) != nil)
        #expect(search.answered(record(relays[0], timestamp: 2)) == nil)
    }

    @Test("it is over when every relay has answered, whatever it said, and not before")
    func over() {
        var search = SearchState(relays: relays)
        #expect(!search.isOver)
        _ = search.answered(nil)
        #expect(!search.isOver)
        _ = search.answered(record(relays[0], timestamp: 1))
        #expect(search.isOver)
    }

    @Test("the relays themselves are named once")
    func relaysOnce() {
        var search = SearchState(relays: relays)
        #expect(search.tryRelays() == FoundRoutes(relays: relays))
        #expect(search.tryRelays() == nil)
    }
}
