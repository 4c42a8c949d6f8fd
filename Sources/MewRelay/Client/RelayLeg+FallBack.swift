internal import MewBase
internal import MewLoop

// The way back to WebSocket: it is opened beside an HTTP/3 that may be dead, so that nothing waits until that is certain. UDP to a
// relay and UDP to a peer often end together, and a connection that has just lost its direct path has no time left.

extension RelayLeg {
    /// A question that is not answered by then is worth a second connection.
    static let fallBackAfter: Duration = .milliseconds(250)

    /// HTTP/3 was silent for long already while something was under way.
    func unanswered() {
        ask()
        if doubt != nil { fallBack(at: loop.now) }
    }

    /// It is in doubt.
    func fallBack(at time: Instant) {
        guard http3.serving != nil else { return }
        switch http3.fallBack {
        case .none: http3.fallBack = .due(time)
        case .due(let present): http3.fallBack = .due(min(present, time))
        case .underWay: return
        }
        waiters.resumeAll(.phase)
    }

    /// While HTTP/3 carries the leg: suspends until it was in doubt for so long that WebSocket was opened, and returns that; or
    /// the end of both.
    func fallenBack() async -> Opened {
        while !Task.isCancelled {
            let present = http3.fallBack
            let due = if case .due(let time) = present { time } else { Instant.distantFuture }
            await wait(until: due) { http3.fallBack != present }
            guard http3.fallBack == present, !Task.isCancelled else { continue }
            http3.fallBack = .underWay
            if let opened = await openedBeside() { return opened }
        }
        return .failed(.ended)
    }

    /// Nil: there is no need any more, or HTTP/3 may still answer.
    private func openedBeside() async -> Opened? {
        let opened = await withTaskGroup(of: Opened.self) { group in
            group.addTask { await self.admittedOverWebSocket() }
            group.addTask { await self.answered() }
            return await first(of: &group)
        }
        switch opened {
        case .webSocket: return opened
        case .failed where doubt == nil && http3.fallBack == .underWay: return .failed(.silent)
        case .failed, .notNeeded, .withoutHTTP3, .http3:
            http3.fallBack = .none
            return nil
        }
    }

    private func answered() async -> Opened {
        await wait(until: .distantFuture) { http3.fallBack != .underWay }
        return .notNeeded
    }

    /// Cancels the others, and closes what they may have opened.
    func first(of group: inout TaskGroup<Opened>) async -> Opened {
        let opened = await group.next() ?? .failed(.ended)
        group.cancelAll()
        for await late in group {
            if case .webSocket(let stream, _) = late { await stream.close() }
        }
        return opened
    }
}
