import MewBase
import MewClient
import MewLoop
import MewWire

/// Whether it is known already why a link is not direct. A new connection begins at a relay while addresses are tried, and what
/// became of them is what people ask for.
struct PathQuestion {
    /// Whoever waits so long is told what for.
    static let unnoticed: Duration = .milliseconds(300)
    /// The daemon tells its addresses right after the greeting; a link without any may hear of them for so long.
    static let telling: Duration = .seconds(1)
    /// One round of trying is two seconds, and it begins when the daemon has told where it is. What the routers do is known three
    /// seconds after the names of the relays were looked up, whether they answer or not.
    static let limit: Duration = .seconds(4)

    /// The times, since the link was ready, at which something else is enough of an answer, or somebody is told.
    static let moments = [unnoticed, telling, limit]

    /// - Parameter elapsed: since the link was ready.
    static func isSettled(_ status: LinkStatus?, after elapsed: Duration) -> Bool {
        guard elapsed < limit else { return true }
        return switch status?.whyNotDirect?.code {
        case .checking: false
        case .noAddress: elapsed >= telling
        case nil, .noSuchFamily, .noAnswer, .fellSilent, .largePacketsLost, .notHeard, .otherSideDecides,
            .udpBlockedHere,
            .udpBlockedThere, .portPerDestination:
            true
        }
    }
}

extension DaemonSession {
    /// The status of the link, once it is direct or it is known why it is not.
    func settledStatus() async -> LinkStatus? {
        var elapsed: Duration = .zero
        for moment in PathQuestion.moments {
            let status = await status(settledAfter: elapsed, within: moment - elapsed)
            guard status.isLate else { return status.value }
            elapsed = moment
            guard moment == PathQuestion.unnoticed, command.context.terminal.canAsk else { continue }
            output.note("(trying the addresses of \(name) for up to \(PathQuestion.limit.components.seconds) s …)")
        }
        return await supervisor.linkStatus()
    }

    private func status(settledAfter elapsed: Duration, within limit: Duration) async -> Limited<LinkStatus?> {
        await withTimeLimit(limit, on: command.context.runtime.loop) {
            await supervisor.linkStatus { PathQuestion.isSettled($0, after: elapsed) }
        }
    }
}
