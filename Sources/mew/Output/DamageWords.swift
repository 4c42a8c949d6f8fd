import MewBase
import MewDaemon

/// What is said of a damaged database, at the daemon's start and by `mew status`; nothing when there was none.
struct DamageWords {
    /// Without a full stop.
    let lines: [String]

    /// As many as people read; JSON has all.
    private static let shownLosses = 10

    init(_ damage: StoreDamage) {
        let named = damage.losses.prefix(Self.shownLosses).map(Self.line)
        let more = damage.losses.count - named.count
        lines =
            damage.repairs.map(Self.line) + named
            + (more > 0 ? ["and something of \(Words.count(more, "more session"))"] : [])
            + Self.goneLines(damage.sessionsGone)
    }

    private static func line(_ repair: ControlRepair) -> String {
        let file = "the damaged file is now \(repair.setAside.printable(limit: 4_096))"
        guard !repair.isTotalLoss else {
            return
                "nothing of the damaged database could be read: all its sessions are lost, and every device has to be "
                + "paired again with 'mew pair'; \(file)"
        }
        let start = "the database was damaged, and what could be read of it was kept; \(file)"
        let lost = [
            repair.knowsSessions ? nil : "sessions may be gone without a trace",
            repair.knowsDevices
                ? nil : "paired devices may be gone: pair those that are refused again with 'mew pair'",
        ].compactMap { $0 }
        return ([start] + lost).joined(separator: "; ")
    }

    private static func line(_ loss: ControlLoss) -> String {
        let id = loss.session.printable(limit: 40)
        let name = loss.title.map { "\"\($0.printable(limit: 60))\" (\(id))" } ?? id
        return "lost with the damaged database: \(name): \(words(of: loss))"
    }

    /// `mew ls` cannot show them: nothing is left that names them.
    private static func goneLines(_ count: Int) -> [String] {
        guard count > 0 else { return [] }
        let (whole, names) = (Words.count(count, "whole session"), count == 1 ? "its name" : "their names")
        return ["lost with the damaged database: \(whole), and \(names) as well"]
    }

    private static func words(of loss: ControlLoss) -> String {
        let counts = [(loss.messages, "message"), (loss.events, "event"), (loss.requests, "question")]
        let parts = counts.filter { $0.0 > 0 }.map { Words.count($0.0, $0.1) }
        let record = loss.isReadable ? [] : ["its record (it can only be deleted)"]
        return (record + parts).joined(separator: ", ")
    }
}
