import MewBase
import MewDaemon
import MewIdentity
import MewWire
import Testing

@testable import mew

@Suite("Why a link is not direct")
struct PathQuestionTests {
    private func status(_ code: WhyNotDirect.Code?) -> LinkStatus {
        var status = LinkStatus(path: .relay(url: "https://r/"), roundTrip: nil, since: .zero, lastProof: .zero)
        status.whyNotDirect = code.map { WhyNotDirect($0, text: "") }
        return status
    }

    @Test("while addresses are being tried 'mew status' waits, at most 4 s")
    func checking() {
        #expect(!PathQuestion.isSettled(status(.checking), after: .zero))
        #expect(!PathQuestion.isSettled(status(.checking), after: .milliseconds(3_999)))
        #expect(PathQuestion.isSettled(status(.checking), after: .seconds(4)))
    }

    @Test("a daemon that has told no address has a second for that")
    func noAddress() {
        #expect(!PathQuestion.isSettled(status(.noAddress), after: .milliseconds(999)))
        #expect(PathQuestion.isSettled(status(.noAddress), after: .seconds(1)))
    }

    @Test("nobody waits for what is known, or for a link that is direct or gone")
    func known() {
        for code in WhyNotDirect.Code.allCases where code != .checking && code != .noAddress {
            #expect(PathQuestion.isSettled(status(code), after: .zero), "\(code)")
        }
        #expect(PathQuestion.isSettled(status(nil), after: .zero))
        #expect(PathQuestion.isSettled(nil, after: .zero))
    }

    @Test("the daemon, which cannot know, names the command that answers on the device")
    func onward() throws {
        let node = try #require(SecretKey(seed: [UInt8](repeating: 3, count: 32))).node
        let link = ControlLink(
            node: node, name: "vm", applicationProtocol: "mew/wire/1", app: nil, path: "relay", address: nil,
            relay: "https://r/", sinceMs: 0, roundTripMs: nil, lastProofMs: 0, channels: 1,
            whyNotDirect: WhyNotDirect(.otherSideDecides, text: "only the device can move it"))
        let lines = LinkReport(link, of: "my desk").lines
        #expect(lines.contains("  not direct: only the device can move it"))
        #expect(lines.contains { $0.contains("Run 'mew status 'my desk'' on that device") })
    }

    @Test("pings through a relay end with why, and what would help")
    func ping() {
        #expect(
            PingTally.sentence(WhyNotDirect(.noAnswer, text: "no answer at 10.0.0.1:7", help: "Open UDP port 7."))
                == "not direct: no answer at 10.0.0.1:7. Open UDP port 7.")
        #expect(PingTally.sentence(WhyNotDirect(.checking, text: "being tried")) == "not direct: being tried")
    }

    @Test("programs find the reason beside each ping through a relay, in the fields of mew status")
    func pingRow() {
        var relayed = status(.noAnswer)
        relayed.whyNotDirect = WhyNotDirect(.noAnswer, text: "no answer at 10.0.0.1:7")
        let row = PingTally.row(2, .milliseconds(3), relayed)
        #expect(row["n"] == 2 && row["rtt_ms"]?.asDouble == 3)
        #expect(row["path"] == "relay" && row["relay"] == "https://r/")
        #expect(row["why_not_direct"] == "no_answer" && row["why_text"] == "no answer at 10.0.0.1:7")
        #expect(PingTally.row(1, .zero, status(nil))["why_not_direct"] == .null)
        #expect(PingTally.row(1, .zero, nil)["path"] == .null)
    }
}
