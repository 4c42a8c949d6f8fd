import MewBase
import MewClient
import MewLoop
import MewWire

/// Whether it is known already why a link is not direct. A new connection begins at a relay while addresses are tried, and what
/// became of them is what people ask for.
struct PathQuestion {
    /// One round of trying is two seconds, and it begins when the daemon has told where it is.
    static let limit: Duration = .seconds(3)
    /// The daemon tells its addresses right after the greeting; a link without any may hear of them for so long.
    static let telling: Duration = .seconds(1)
    /// Whoever waits so long is told what for.
    static let unnoticed: Duration = .milliseconds(300)
    /// Between two looks at our own memory.
    static let pause: Duration = .milliseconds(100)

    /// - Parameter elapsed: since the link was ready.
    static func isSettled(_ status: LinkStatus?, after elapsed: Duration) -> Bool {
        guard elapsed < limit else { return true }
        return switch status?.whyNotDirect?.code {
        case .checking: false
        case .noAddress: elapsed >= telling
        case nil, .noSuchFamily, .noAnswer, .fellSilent, .largePacketsLost, .notHeard, .otherSideDecides: true
        }
    }
}

extension DaemonSession {
    /// The status of the link, once it is direct or it is known why it is not.
    func settledStatus() async -> LinkStatus? {
        let loop = command.context.runtime.loop
        let start = loop.now
        var isTold = !command.context.terminal.canAsk
        while true {
            let status = await supervisor.linkStatus()
            let elapsed = start.duration(to: loop.now)
            if PathQuestion.isSettled(status, after: elapsed) { return status }
            if !isTold, elapsed >= PathQuestion.unnoticed {
                isTold = true
                output.note("(trying the addresses of \(name) for up to \(PathQuestion.limit.components.seconds) s …)")
            }
            guard (try? await LoopClock(loop).sleep(for: PathQuestion.pause)) != nil else { return status }
        }
    }
}
