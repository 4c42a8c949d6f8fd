import MewBase
import Testing

@testable import MewPath

@Suite("Small packets before large ones")
struct AddressCheckTests {
    private let start = Instant(nanoseconds: 100_000_000_000)
    private let near = SocketAddress(ipv4: 0x0a00_0001, port: 1)
    private let far = SocketAddress(ipv4: 0xc000_0201, port: 2)

    private func at(_ milliseconds: Int64) -> Instant { start.advanced(by: .milliseconds(milliseconds)) }

    private func check(_ addresses: [SocketAddress]) -> AddressCheck {
        AddressCheck(PathSelector.ProbeNumber(number: 1), addresses, now: start)
    }

    @Test("who does not answer is asked three times in two seconds, and gets nothing large")
    func silence() {
        var check = check([near, far])
        var asked: [Int64] = []
        for time in Int64(0)...2_000 {
            for action in check.look(now: at(time)) {
                switch action {
                case .ask(let addresses):
                    asked.append(time)
                    #expect(addresses == [near, far])
                case .probe, .join: Issue.record("nobody has answered")
                case .over(let passSmall):
                    #expect(time == 2_000 && passSmall.isEmpty)
                }
            }
            #expect(check.deadline > at(time) || time == 2_000)
        }
        #expect(asked == [0, 200, 700])
    }

    @Test("who answers is probed in full size, is asked no more, and the others are")
    func answer() {
        var check = check([near, far])
        #expect(check.look(now: at(0)) == [.ask([near, far])])
        check.answered(far)
        check.answered(SocketAddress(ipv4: 1, port: 1))
        #expect(check.look(now: at(30)) == [.probe([far])])
        #expect(check.look(now: at(30)).isEmpty)
        #expect(check.look(now: at(200)) == [.ask([near])])
    }

    @Test(
        "a large packet that is not answered gives the next that answers its turn; then it is told who passes small ones"
    )
    func onlySmall() {
        var check = check([near, far])
        _ = check.look(now: at(0))
        check.answered(far)
        _ = check.look(now: at(10))
        check.answered(near)
        #expect(check.look(now: at(20)).isEmpty, "one at a time")
        check.probedInVain()
        #expect(check.look(now: at(1_000)).first == .probe([near]))
        #expect(check.deadline == .distantFuture)
        check.probedInVain()
        #expect(check.look(now: at(3_000)) == [.over(passSmall: [far, near])])
    }

    @Test(
        "what was dialled is probed in full size at once; who answers joins that; only the latter is said to pass small packets"
    )
    func dialled() {
        var check = AddressCheck(PathSelector.ProbeNumber(number: 1), [near, far], dialled: [near], now: start)
        #expect(check.look(now: at(0)) == [.probe([near]), .ask([far])])
        #expect(check.look(now: at(50)).isEmpty)
        check.answered(far)
        #expect(check.look(now: at(60)) == [.join([far])])
        check.probedInVain()
        #expect(check.look(now: at(2_000)) == [.over(passSmall: [far])])
        var alone = AddressCheck(PathSelector.ProbeNumber(number: 2), [near], dialled: [near], now: start)
        #expect(alone.look(now: at(0)) == [.probe([near])])
        #expect(alone.deadline == .distantFuture)
        alone.probedInVain()
        #expect(alone.look(now: at(3_000)) == [.over(passSmall: [])])
    }

    @Test(
        "whoever answers while those that were dialled are probed joins them, in whatever order; nobody gets a second probe"
    )
    func joining() {
        let others = (1...3).map { SocketAddress(ipv4: 0xc000_0200 + $0, port: 3) }
        for count in 1...3 {
            let number = PathSelector.ProbeNumber(number: 1)
            var check = AddressCheck(number, [near, far] + others, dialled: [near, far], now: start)
            #expect(check.look(now: at(0)) == [.probe([near, far]), .ask(others)])
            for other in others.prefix(count) { check.answered(other) }
            #expect(check.look(now: at(60)) == [.join(Array(others.prefix(count)))])
            #expect(check.look(now: at(65)).isEmpty)
            for other in others.dropFirst(count) { check.answered(other) }
            let late = Array(others.dropFirst(count))
            #expect(check.look(now: at(70)) == (late.isEmpty ? [] : [.join(late)]))
            check.probedInVain()
            #expect(check.look(now: at(1_000)) == [.over(passSmall: others)])
        }
    }

    @Test("questions that were missed while the machine did not run are not made up for")
    func late() {
        var check = check([near])
        #expect(check.look(now: at(0)) == [.ask([near])])
        #expect(check.look(now: at(900)) == [.ask([near])])
        #expect(check.look(now: at(901)).isEmpty)
        #expect(check.look(now: at(60_000)) == [.over(passSmall: [])])
    }

    @Test("what becomes known within two seconds is asked on its own time, and holds the end up; later it is not asked")
    func added() {
        var check = check([near])
        #expect(check.look(now: at(0)) == [.ask([near])])
        check.add([near, far], now: at(100))
        #expect(check.look(now: at(100)) == [.ask([far])])
        #expect(check.look(now: at(200)) == [.ask([near])])
        #expect(check.look(now: at(300)) == [.ask([far])])
        _ = check.look(now: at(700))
        #expect(check.look(now: at(800)) == [.ask([far])])
        #expect(check.look(now: at(2_099)).isEmpty)
        check.add([SocketAddress(ipv4: 0xc000_0209, port: 3)], now: at(2_000))
        #expect(check.look(now: at(2_100)) == [.over(passSmall: [])])
    }

    @Test("who asks us is asked back at once, and three times in all")
    func heard() {
        var check = check([near, far])
        _ = check.look(now: at(0))
        check.heard(far, now: at(50))
        #expect(check.deadline == at(50))
        #expect(check.look(now: at(50)) == [.ask([far])])
        check.heard(far, now: at(60))
        #expect(check.look(now: at(60)) == [.ask([far])])
        check.heard(far, now: at(70))
        #expect(check.look(now: at(70)).isEmpty)
        #expect(check.look(now: at(200)) == [.ask([near])])
        #expect(check.look(now: at(700)) == [.ask([near])])
    }
}
