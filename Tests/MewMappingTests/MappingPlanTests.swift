import MewBase
import MewMapping
import MewSim
import Testing

private let start = Instant(nanoseconds: 3_600_000_000_000)
private let outside = SocketAddress("198.51.100.7:4433")!  // literals that are addresses
private let inside = SocketAddress("10.7.0.2:4433")!

private func mapping(_ external: SocketAddress = outside, _ lifetime: Duration = .seconds(7200)) -> Mapping {
    Mapping(.natPMP, external: external, lifetime: lifetime, router: .gateway)
}

private func after(_ seconds: Int64) -> Instant { start.advanced(by: .seconds(seconds)) }

@Suite("When a router is asked to open a port")
struct MappingPlanTests {
    private static func opened(_ lifetime: Duration = .seconds(7200)) -> MappingPlan {
        var plan = MappingPlan(port: 4433, now: start)
        _ = plan.look(now: start)
        _ = plan.answered(.success(mapping(outside, lifetime)), now: start)
        return plan
    }

    @Test("it is asked at once, and once")
    func first() {
        var plan = MappingPlan(port: 4433, now: start)
        #expect(plan.result == .asking && plan.deadline == start)
        #expect(plan.look(now: start) == .ask(externalPort: 4433))
        #expect(plan.look(now: after(100)) == nil && plan.deadline == nil)
    }

    @Test("what is open is a candidate, and is asked for again after five minutes, or after half of a shorter life")
    func prolonged() {
        for (lifetime, wait) in [(Int64(7200), Int64(300)), (120, 60), (0, 150)] {
            var plan = Self.opened(.seconds(lifetime))
            #expect(plan.candidate == outside)
            #expect(plan.look(now: after(wait - 1)) == nil)
            #expect(plan.look(now: after(wait)) == .prolong(mapping(outside, .seconds(lifetime))))
        }
    }

    @Test("a router that gives another address or port when asked again has the last word")
    func moved() {
        var plan = Self.opened()
        let other = SocketAddress("198.51.100.8:9")!
        _ = plan.look(now: after(300))
        #expect(plan.answered(.success(mapping(other)), now: after(300)) == nil)
        #expect(plan.candidate == other)
    }

    @Test("a router that does not answer has not closed what it opened, until that lapses")
    func silent() {
        var plan = Self.opened(.seconds(600))
        var (now, asked) = (start, 0)
        while let deadline = plan.deadline, plan.candidate != nil {
            now = max(now, deadline)
            guard plan.look(now: now) != nil else { continue }
            if plan.candidate == nil { break }
            asked += 1
            #expect(plan.answered(.failure(.noRouter), now: now) == nil)
        }
        #expect(now == after(600) && plan.candidate == nil)
        #expect(asked == 20, "each 15 s of the second half")
        #expect(plan.look(now: now) == nil, "it is being asked like any other")
        _ = plan.answered(.failure(.noRouter), now: now)
        #expect(plan.result == .failed(.noRouter))
    }

    @Test("a router that says no has closed it")
    func refused() {
        var plan = Self.opened()
        _ = plan.look(now: after(300))
        _ = plan.answered(.failure(.refused(.natPMP, "no")), now: after(300))
        #expect(plan.result == .failed(.refused(.natPMP, "no")) && plan.candidate == nil)
    }

    @Test("after failures the waits double up to an hour")
    func waits() {
        var plan = MappingPlan(port: 4433, now: start)
        var (now, waits) = (start, [Int64]())
        for _ in 0..<9 {
            #expect(plan.look(now: now) == .ask(externalPort: 4433))
            _ = plan.answered(.failure(.noRouter), now: now)
            guard let deadline = plan.deadline else { break }
            waits.append(now.duration(to: deadline).components.seconds)
            now = deadline
        }
        #expect(waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
    }

    @Test(
        "a router behind another router is no way in, and keeps nothing of ours",
        arguments: [
            "10.7.0.2", "100.64.0.1", "100.127.255.255", "172.16.0.1", "172.31.255.1", "192.168.1.1", "169.254.1.1",
            "0.0.0.0",
            "127.0.0.1", "224.0.0.1", "255.255.255.255",
        ])
    func doubled(address: String) throws {
        let external = try #require(SocketAddress(address + ":4433"))
        var plan = MappingPlan(port: 4433, now: start)
        _ = plan.look(now: start)
        #expect(plan.answered(.success(mapping(external)), now: start) == .release(mapping(external)))
        #expect(plan.result == .failed(.behindAnother(.natPMP, external)) && plan.candidate == nil)
    }

    @Test(
        "addresses that only look like private ones are as good as others",
        arguments: [
            "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.1.1",
            "192.169.1.1",
            "126.0.0.1", "128.0.0.1", "223.255.255.255",
        ])
    func global(address: String) throws {
        #expect(try !#require(SocketAddress(address + ":1")).isInternal)
    }

    @Test("on another network it is asked anew, and an answer that is on its way means nothing")
    func changed() {
        var plan = Self.opened()
        plan.networkChanged(now: after(10))
        #expect(plan.candidate == nil && plan.result == .asking)
        #expect(plan.look(now: after(10)) == .ask(externalPort: 4433))
        plan.networkChanged(now: after(11))
        #expect(plan.answered(.success(mapping()), now: after(12)) == nil)
        #expect(plan.candidate == nil)
        #expect(plan.look(now: after(12)) == .ask(externalPort: 4433))
        _ = plan.answered(.success(mapping()), now: after(13))
        #expect(plan.candidate == outside)
    }

    @Test("a stop gives back what is open, and what is opened behind it")
    func stopped() {
        var plan = Self.opened()
        #expect(plan.stop() == .release(mapping()))
        #expect(plan.stop() == nil && plan.deadline == nil && plan.look(now: after(9999)) == nil)
        var late = MappingPlan(port: 4433, now: start)
        _ = late.look(now: start)
        #expect(late.stop() == nil)
        #expect(late.answered(.success(mapping()), now: after(1)) == .release(mapping()))
        #expect(late.candidate == nil)
    }

    @Test(
        "whatever happens: one question at a time, no candidate that lapsed or is private, and always a next time",
        arguments: 0..<500)
    func laws(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var plan = MappingPlan(port: 4433, now: start)
        var (now, isAsked, lapses) = (start, false, Instant?.none)
        for _ in 0..<400 {
            now = now.advanced(by: .seconds(Int64.random(in: 0...400, using: &random)))
            if plan.look(now: now) != nil {
                #expect(!isAsked)
                isAsked = true
            }
            if let lapses, lapses <= now { #expect(plan.candidate == nil) }
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                plan.networkChanged(now: now)
                lapses = nil
            case 1..<5 where isAsked:
                isAsked = false
                let lifetime = Int64.random(in: 1...7200, using: &random)
                let external = Bool.random(using: &random) ? outside : inside
                _ = plan.answered(.success(mapping(external, .seconds(lifetime))), now: now)
                if plan.candidate != nil { lapses = max(lapses ?? now, now.advanced(by: .seconds(lifetime))) }
            case 5 where isAsked:
                isAsked = false
                _ = plan.answered(.failure(.noRouter), now: now)
            default: break
            }
            #expect(plan.candidate?.isInternal != true)
            #expect(isAsked || plan.deadline != nil)
        }
    }
}
