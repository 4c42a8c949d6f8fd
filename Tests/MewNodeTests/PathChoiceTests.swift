import MewBase
import Testing

@testable import MewNode

@Suite("When a dialled connection changes between relay and address")
struct PathChoiceTests {
    private let start = Instant(nanoseconds: 10_000_000_000)
    private let address = SocketAddress.loopback(port: 1)
    private let other = SocketAddress.loopback(port: 2)

    private func after(_ milliseconds: Int64) -> Instant { start.advanced(by: .milliseconds(milliseconds)) }

    private func relayed(inFlight: Bool = false, relaySince: Int64 = -1_000, proof: Int64 = 0) -> PathChoice.Sample {
        PathChoice.Sample(
            address: nil, hasDataInFlight: inFlight, lastProof: after(proof), roundTrip: .milliseconds(20),
            since: after(-500), relaySince: after(relaySince))
    }

    private func direct(inFlight: Bool, proof: Int64, roundTrip: Duration = .milliseconds(20)) -> PathChoice.Sample {
        PathChoice.Sample(
            address: address, hasDataInFlight: inFlight, lastProof: after(proof), roundTrip: roundTrip, since: start,
            relaySince: nil)
    }

    @Test("on the relay each address is tried, and one that does not answer waits 5 s, then 10 s")
    func probes() {
        var choice = PathChoice([address, other], now: start)
        #expect(choice.look(at: relayed(), now: start) == .probe(address))
        choice.failed(address, now: start)
        #expect(choice.look(at: relayed(), now: start) == .probe(other))
        choice.failed(other, now: after(1))
        #expect(choice.look(at: relayed(), now: after(4_999)) == .stay)
        #expect(choice.look(at: relayed(), now: after(5_000)) == .probe(address))
        choice.failed(address, now: after(5_000))
        choice.failed(other, now: after(5_000))
        #expect(choice.look(at: relayed(), now: after(14_999)) == .stay)
        #expect(choice.look(at: relayed(), now: after(15_000)) == .probe(address))
    }

    @Test("the wait ends at five minutes")
    func longestWait() {
        var choice = PathChoice([address], now: start)
        for _ in 0..<20 { choice.failed(address, now: start) }
        #expect(choice.look(at: relayed(), now: after(299_999)) == .stay)
        #expect(choice.look(at: relayed(), now: after(300_000)) == .probe(address))
    }

    @Test("an address that is silent for a second with data under way is left, not one millisecond earlier")
    func fallsBack() {
        var choice = PathChoice([address], now: start)
        #expect(choice.look(at: direct(inFlight: true, proof: 0), now: start) == .stay)
        #expect(choice.look(at: direct(inFlight: true, proof: 0), now: after(999)) == .stay)
        #expect(choice.look(at: direct(inFlight: true, proof: 0), now: after(1_000)) == .fallBack(from: address))
        #expect(choice.look(at: relayed(), now: after(1_001)) == .stay)
    }

    @Test("silence without anything under way means nothing, and a sign of life starts the second anew")
    func idleIsNotSilent() {
        var choice = PathChoice([address], now: start)
        #expect(choice.look(at: direct(inFlight: false, proof: 0), now: after(60_000)) == .stay)
        #expect(choice.look(at: direct(inFlight: true, proof: 0), now: after(60_250)) == .stay)
        #expect(choice.look(at: direct(inFlight: true, proof: 60_900), now: after(61_300)) == .stay)
        #expect(choice.look(at: direct(inFlight: true, proof: 60_900), now: after(61_899)) == .stay)
        #expect(choice.look(at: direct(inFlight: true, proof: 60_900), now: after(61_900)) == .fallBack(from: address))
    }

    @Test("on a slow path six round trips have to pass")
    func slowPath() {
        var choice = PathChoice([address], now: start)
        let slow = direct(inFlight: true, proof: 0, roundTrip: .milliseconds(500))
        #expect(choice.look(at: slow, now: start) == .stay)
        #expect(choice.look(at: slow, now: after(2_999)) == .stay)
        #expect(choice.look(at: slow, now: after(3_000)) == .fallBack(from: address))
    }

    @Test("a relay that came back while something was under way is used anew at once")
    func renewsRelay() {
        var choice = PathChoice([], now: start)
        #expect(choice.look(at: relayed(inFlight: true, relaySince: 100, proof: 0), now: after(200)) == .renewRelay)
        #expect(choice.look(at: relayed(inFlight: false, relaySince: 100, proof: 0), now: after(200)) == .stay)
        #expect(choice.look(at: relayed(inFlight: true, relaySince: 100, proof: 150), now: after(200)) == .stay)
        #expect(choice.look(at: relayed(inFlight: true, relaySince: -600, proof: -900), now: after(200)) == .stay)
    }
}
