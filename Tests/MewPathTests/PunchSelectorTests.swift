import MewBase
import MewWire
import Testing

@testable import MewPath

@Suite("Path selection and punching")
struct PunchSelectorTests {
    private typealias Stage = SelectorStage
    private let home = PathWay.relay(Stage.home)

    private func stage(_ addresses: [SocketAddress] = [Stage.near], speaks: Bool = true) -> Stage {
        var stage = Stage(home, addresses: addresses)
        stage.sample.speaksBeside = speaks
        return stage
    }

    private func call(_ candidates: [SocketAddress], isReply: Bool = true, nat: NATReport? = nil) -> PathSelector.Input
    {
        .called(PathCall(isUnheard: false, candidates: candidates, cameBy: home, nat: nat, isReply: isReply))
    }

    @Test(
        "an address that a call names while others are asked joins them, for two seconds; a peer of old has its own try"
    )
    func joins() throws {
        for (time, speaks, joins) in [(1_999, true, true), (2_000, true, false), (100, false, false)]
            as [(Int64, Bool, Bool)]
        {
            var stage = stage(speaks: speaks)
            guard case .probe(let number, [Stage.near])? = stage.look(0).first else {
                Issue.record("the address that is known is asked")
                return
            }
            let steps = stage.take(call([Stage.near, Stage.far]), time)
            #expect(steps == (joins ? [.widen(number, [Stage.far])] : []))
            #expect(stage.take(call([Stage.near, Stage.far]), time + 1).isEmpty)
            let next = stage.take(.probed(number, answeredBy: nil), 3_000)
            #expect(next.probed == (joins ? nil : [Stage.far]))
        }
    }

    @Test(
        "a call that answers an offer ends no wait; one that comes by itself ends them all", arguments: [true, false])
    func waits(isReply: Bool) {
        var stage = stage()
        let steps = stage.look(0)
        _ = stage.finish(steps, by: nil, 2_000)
        #expect(stage.take(call([Stage.near], isReply: isReply), 3_000).probed == (isReply ? nil : [Stage.near]))
        if isReply { #expect(stage.selector.nextLook == Stage.at(7_000)) }
    }

    @Test(
        "a peer of which no address is known is invited at once, after 5 s, 10 s and so on up to 5 min; a change of the network begins anew"
    )
    func invites() {
        var stage = stage([])
        var now: Int64 = 0
        for wait: Int64 in [5, 10, 20, 40, 80, 160, 300, 300] {
            #expect(stage.look(now) == [.invite])
            #expect(stage.selector.nextLook == Stage.at(now + wait * 1_000))
            now += wait * 1_000
            #expect(stage.look(now - 1).isEmpty)
        }
        #expect(stage.take(.networkChanged, now - 1).contains(.invite))
        #expect(stage.take(call([Stage.far]), now).probed == [Stage.far])
    }

    @Test("nobody is invited who does not know what that is, or whose addresses are known, or by a relay that is away")
    func invitesNobody() {
        var old = stage([], speaks: false)
        #expect(old.look(0).isEmpty)
        var known = stage()
        #expect(!known.look(0).contains(.invite))
        var away = Stage(home, addresses: [], connected: 0)
        away.sample.speaksBeside = true
        #expect(!away.look(0).contains(.invite))
    }

    @Test("the rule that forbids a direct path is named as soon as both sides have told what they know")
    func words() {
        var strict = NATReport()
        (strict.ipv4.udp, strict.ipv4.mapping, strict.ipv4.filtering) = (.works, .dependsOnPort, .dependsOnPort)
        var blocked = NATReport()
        blocked.ipv4.udp = .blocked
        var stage = stage()
        _ = stage.look(0)
        #expect(stage.selector.whyNotDirect(now: Stage.at(0)).code == .checking)
        _ = stage.take(.surveyed(strict), 10)
        #expect(stage.selector.whyNotDirect(now: Stage.at(10)).code == .checking)
        _ = stage.take(call([], nat: strict), 20)
        let why = stage.selector.whyNotDirect(now: Stage.at(20))
        #expect(why.code == .portPerDestination)
        #expect(
            why.text
                == "the router on either side gives each destination a port of its own, so that neither can be told where to send"
        )
        #expect(why.help?.contains("port mapping") == true)
        _ = stage.take(call([], nat: blocked), 30)
        #expect(stage.selector.whyNotDirect(now: Stage.at(30)).code == .udpBlockedThere)
        _ = stage.take(.surveyed(blocked), 40)
        #expect(stage.selector.whyNotDirect(now: Stage.at(40)).code == .udpBlockedHere)
    }

    @Test("no answer is not the last word while the relays are asked what the routers do")
    func surveying() {
        var stage = stage()
        let steps = stage.look(0)
        _ = stage.finish(steps, by: nil, 2_000)
        #expect(stage.selector.whyNotDirect(now: Stage.at(2_000)).code == .noAnswer)
        #expect(stage.selector.whyNotDirect(now: Stage.at(2_000), isSurveying: true).code == .checking)
    }
}
