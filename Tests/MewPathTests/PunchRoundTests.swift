import MewBase
import Testing

@testable import MewPath

@Suite("The listener's half of a punch")
struct PunchRoundTests {
    private let start = Instant(nanoseconds: 100_000_000_000)
    private let near = SocketAddress(ipv4: 0x0a00_0001, port: 1)
    private let far = SocketAddress(ipv4: 0xc000_0201, port: 2)

    private func at(_ milliseconds: Int64) -> Instant { start.advanced(by: .milliseconds(milliseconds)) }

    private func addresses(_ count: Int) -> [SocketAddress] {
        (0..<count).map { SocketAddress(ipv4: 0xc000_0200 + UInt32($0), port: 9) }
    }

    @Test("an address that does not answer is asked five times in two seconds, and then no more")
    func times() {
        var round = PunchRound()
        round.offered([near], now: start)
        let times = (Int64(0)...60_000).filter { !round.due(now: at($0)).isEmpty }
        #expect(times == [0, 200, 450, 1_000, 1_700])
        #expect(round.deadline == .distantFuture)
        #expect(!round.isRunning)
    }

    @Test("the first answer ends the questions to all; one from elsewhere does not")
    func answered() {
        var round = PunchRound()
        round.offered([near, far], now: start)
        #expect(round.due(now: start) == [near, far])
        round.answered(SocketAddress(ipv4: 1, port: 1))
        #expect(round.due(now: at(200)) == [near, far])
        round.answered(far)
        #expect(round.deadline == .distantFuture)
    }

    @Test(
        "an offer that comes again within a second changes nothing; a second later it begins anew; new addresses begin at once"
    )
    func again() {
        var round = PunchRound()
        round.offered([near], now: start)
        _ = round.due(now: start)
        round.offered([near, far], now: at(100))
        #expect(round.due(now: at(100)) == [far])
        #expect(round.due(now: at(199)).isEmpty)
        #expect(round.due(now: at(200)) == [near])
        round.offered([near], now: at(999))
        _ = round.due(now: at(999))
        #expect(round.deadline == at(1_000))
        round.offered([near], now: at(1_000))
        #expect(round.due(now: at(1_000)) == [near])
    }

    @Test("no address gets more than three questions in any second, calls included, however often it is offered")
    func perAddress() {
        var round = PunchRound()
        var times: [Int64] = []
        for time in Int64(0)..<10_000 {
            if time % 50 == 0 { round.offered([near], now: at(time)) }
            if !round.due(now: at(time)).isEmpty { times.append(time) }
            if time % 250 == 0, round.takes(near, now: at(time)) { times.append(time) }
        }
        #expect(times.count >= 25)
        for (first, fourth) in zip(times, times.dropFirst(3)) { #expect(fourth - first >= 1_000) }
    }

    @Test("offers that name ever other addresses cost 32 packets at once and 16 a second, for 16 addresses each")
    func budget() {
        var round = PunchRound()
        var sent = 0
        for time in Int64(0)...10_000 {
            if time % 100 == 0 {
                let number = UInt32(time) * 16
                round.offered(
                    (0..<100).map { SocketAddress(ipv4: 0x0b00_0000 + number + $0, port: 9) }, now: at(time))
            }
            sent += round.due(now: at(time)).count
        }
        #expect(sent <= 32 + 16 * 10)
        #expect(sent >= 16 * 10)
    }

    @Test("sixteen addresses of an offer are asked, and none twice")
    func limits() {
        var round = PunchRound()
        round.offered(addresses(3) + addresses(20), now: start)
        #expect(round.due(now: start) == Array(addresses(16).prefix(13)))
    }

    @Test("questions that were missed while the machine did not run are not made up for")
    func late() {
        var round = PunchRound()
        round.offered([near], now: start)
        #expect(round.due(now: at(1_000)) == [near])
        #expect(round.due(now: at(1_001)).isEmpty)
        #expect(round.due(now: at(1_700)) == [near])
    }
}
