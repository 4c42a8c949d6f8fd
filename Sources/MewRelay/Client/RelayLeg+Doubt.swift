internal import MewBase
internal import MewLoop
internal import MewWire

// Doubt: a connection that may be dead is asked at once instead of at the next ping.

extension RelayLeg {
    /// An answer takes one round trip; a busy relay or path may need some more.
    private static let roundTrips = 4
    private static let usualAnswer: ClosedRange<Duration> = .seconds(1) ... .seconds(2)
    /// After a change of the network most connections are dead, and waiting costs more than a new one.
    private static let quickAnswer: ClosedRange<Duration> = .milliseconds(500) ... .seconds(1)

    /// Asks the relay whether it is there; without an answer in time, the connection is given up and made anew. One question
    /// at a time.
    package func ask() {
        ask(within: Self.usualAnswer)
    }

    /// The addresses of this machine have changed, or it was asleep: nobody waits for the end of a back-off, a try that is
    /// under way begins anew, and a connection is asked whether it still is one.
    package func networkChanged() {
        let before = phase
        retryNow()
        switch before {
        case .waiting: break
        case .connecting: interrupt(.networkChanged)
        case .connected:
            (http3.isHurried, http3.failures) = (true, 0)
            waiters.resumeAll(.phase)
            endDoubt()
            ask(within: Self.quickAnswer)
        case .closed: break
        }
    }

    /// - Parameter limits: at most, because a round trip is measured that includes what TCP had to repeat.
    private func ask(within limits: ClosedRange<Duration>) {
        guard case .connected = phase, doubt == nil else { return }
        let payload = entropy.uint64()
        let patience = max((pings?.roundTrip ?? .zero) * Self.roundTrips, limits.lowerBound)
        let deadline = loop.now.advanced(by: min(patience, limits.upperBound))
        let timer = loop.schedule(at: deadline) { self.assumeIsolated { $0.answerIsMissing(payload) } }
        doubt = (payload, loop.now, timer)
        say(.ping(payload))
        fallBack(at: loop.now.advanced(by: Self.fallBackAfter))
    }

    private func answerIsMissing(_ payload: UInt64) {
        guard doubt?.payload == payload else { return }
        doubt = nil
        // What is opened beside it takes over, or says that there is nothing.
        if http3.fallBack == .underWay { return }
        interrupt(.silent)
    }

    func endDoubt() {
        if let doubt { loop.cancel(doubt.timer) }
        (doubt, http3.fallBack) = (nil, .none)
    }

    private func interrupt(_ end: LegEnd) {
        interruption = end
        waiters.resumeAll()
    }

    /// Suspends until the present connection, or try, is given up.
    func interrupted() async -> LegEnd {
        while true {
            if let interruption { return interruption }
            if Task.isCancelled { return .ended }
            await wait(unless: { interruption != nil })
        }
    }
}
