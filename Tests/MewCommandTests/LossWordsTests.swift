import MewDaemon
import Testing

@testable import mew

@Suite("What is said of a damaged database")
struct LossWordsTests {
    private static let lost = ControlLoss(
        session: "sess_1", title: "Fix it", isReadable: true, messages: 0, events: 2, requests: 0)

    private func lines(_ losses: [ControlLoss], gone: Int) -> [String] {
        DamageWords(StoreDamage(losses: losses, sessionsGone: gone)).lines
    }

    private func line(isTotalLoss: Bool = false, knowsSessions: Bool, knowsDevices: Bool) -> String {
        let repair = ControlRepair(
            setAside: "/x.damaged-1", isTotalLoss: isTotalLoss, knowsSessions: knowsSessions,
            knowsDevices: knowsDevices)
        return DamageWords(StoreDamage(repairs: [repair])).lines.joined(separator: "|")
    }

    @Test("every repair is told, with the place of the damaged file and with what nobody can name any more")
    func repairs() {
        let kept =
            "the database was damaged, and what could be read of it was kept; the damaged file is now /x.damaged-1"
        #expect(line(knowsSessions: true, knowsDevices: true) == kept)
        #expect(line(knowsSessions: false, knowsDevices: true) == kept + "; sessions may be gone without a trace")
        #expect(
            line(knowsSessions: true, knowsDevices: false)
                == kept + "; paired devices may be gone: pair those that are refused again with 'mew pair'")
        #expect(
            line(isTotalLoss: true, knowsSessions: false, knowsDevices: false)
                == "nothing of the damaged database could be read: all its sessions are lost, and every device has to be "
                + "paired again with 'mew pair'; the damaged file is now /x.damaged-1")
    }

    @Test("mew status names what sessions lost, and counts those that are gone with their names")
    func status() {
        #expect(lines([], gone: 0).isEmpty)
        let named = "lost with the damaged database: \"Fix it\" (sess_1): 2 events"
        #expect(lines([Self.lost], gone: 0) == [named])
        #expect(
            lines([Self.lost], gone: 2) == [
                named, "lost with the damaged database: 2 whole sessions, and their names as well",
            ])
        #expect(
            lines([], gone: 1) == ["lost with the damaged database: 1 whole session, and its name as well"])
    }
}
