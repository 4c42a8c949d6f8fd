package import MewBase

/// When a router is asked to open our port, and what holds meanwhile. A value: give it the answers, and look.
///
/// A mapping is asked for again every few minutes, long before it lapses: a router that was restarted has forgotten it and tells
/// nobody who listens. That is one small packet or request; the router answers with what it has.
package struct MappingPlan: Sendable {
    package enum Request: Hashable, Sendable {
        /// Whoever answers first, at best with this external port.
        case ask(externalPort: UInt16)
        /// The one that gave it, for the same port.
        case prolong(Mapping)
        /// It goes nowhere, or is not wanted any more.
        case release(Mapping)
    }

    /// What is known now.
    package enum Result: Hashable, Sendable {
        /// Nothing yet.
        case asking
        case open(Mapping)
        case failed(MappingFailure)
    }

    private enum Stage: Hashable, Sendable {
        case resting(until: Instant)
        case asking
        case stopped
    }

    /// In seconds, what is asked for. A laptop that is carried away leaves nothing behind for longer.
    package static let lifetime: Duration = .seconds(7200)
    /// A router that was restarted is noticed after so long.
    package static let checkEvery: Duration = .seconds(300)
    /// From the first failure on, doubled up to the longest: who bought another router has another network, which is asked at once.
    package static let firstWait: Duration = .seconds(60)
    package static let longestWait: Duration = .seconds(3600)
    /// Of a mapping that could not be prolonged.
    package static let retryWait: Duration = .seconds(15)

    private let port: UInt16
    private var stage: Stage
    private var waits = 0
    /// When the present mapping lapses; nil for one that does not, and without one.
    private var lapses: Instant?
    package private(set) var result = Result.asking
    /// Asked before something happened that makes the answer worthless.
    private var isOutdated = false

    /// - Parameter port: of our UDP socket.
    package init(port: UInt16, now: Instant) {
        self.port = port
        stage = .resting(until: now)
    }

    /// Where others reach us through the router; nil while nothing is open.
    package var candidate: SocketAddress? {
        guard case .open(let mapping) = result else { return nil }
        return mapping.external
    }

    package var deadline: Instant? {
        switch stage {
        case .resting(let until): [until, lapses].compactMap { $0 }.min()
        case .asking: lapses
        case .stopped: nil
        }
    }

    /// What is to be asked now. Its answer goes to `answered`, unless it is a release.
    package mutating func look(now: Instant) -> Request? {
        lapse(now)
        guard case .resting(let until) = stage, until <= now else { return nil }
        stage = .asking
        isOutdated = false
        switch result {
        case .open(let mapping): return .prolong(mapping)
        case .asking, .failed: return .ask(externalPort: port)
        }
    }

    /// - Returns: a mapping that is of no use and to be given back.
    package mutating func answered(_ answer: Swift.Result<Mapping, MappingFailure>, now: Instant) -> Request? {
        switch (answer, stage) {
        case (.success(let mapping), .stopped): return .release(mapping)
        case (_, .stopped), (_, .resting): return nil
        case (_, .asking) where isOutdated:
            stage = .resting(until: now)
            return nil
        case (.success(let mapping), .asking): return opened(mapping, now)
        case (.failure(let failure), .asking):
            failed(failure, now)
            return nil
        }
    }

    /// Another router, or the same one with another idea of us: what it gave may be gone.
    package mutating func networkChanged(now: Instant) {
        switch stage {
        case .resting: stage = .resting(until: now)
        case .asking: isOutdated = true
        case .stopped: return
        }
        waits = 0
        lapses = nil
        result = .asking
    }

    /// - Returns: what the router should not keep.
    package mutating func stop() -> Request? {
        stage = .stopped
        lapses = nil
        guard case .open(let mapping) = result else { return nil }
        result = .asking
        return .release(mapping)
    }

    private mutating func opened(_ mapping: Mapping, _ now: Instant) -> Request? {
        waits = 0
        guard !mapping.external.isInternal else {
            failed(.behindAnother(mapping.method, mapping.external), now)
            return .release(mapping)
        }
        let lifetime: Duration? = mapping.lifetime == .zero ? nil : mapping.lifetime
        lapses = lifetime.map { now.advanced(by: $0) }
        stage = .resting(until: now.advanced(by: min(Self.checkEvery, (lifetime ?? Self.checkEvery) / 2)))
        result = .open(mapping)
        return nil
    }

    /// What is open stays so until it lapses: a router that is busy for a moment has not closed it.
    private mutating func failed(_ failure: MappingFailure, _ now: Instant) {
        if case .open = result, let lapses, lapses > now, !failure.isFinal {
            stage = .resting(until: min(lapses, now.advanced(by: Self.retryWait)))
            return
        }
        lapses = nil
        result = .failed(failure)
        stage = .resting(until: now.advanced(by: min(Self.longestWait, Self.firstWait * (1 << min(waits, 10)))))
        waits += 1
    }

    private mutating func lapse(_ now: Instant) {
        guard let lapses, lapses <= now else { return }
        self.lapses = nil
        result = .asking
        if case .resting = stage { stage = .resting(until: now) }
    }
}

extension MappingFailure {
    /// The router has spoken: what it gave before holds no more.
    fileprivate var isFinal: Bool {
        switch self {
        case .refused, .behindAnother: true
        case .noRouter, .notAsked: false
        }
    }
}
