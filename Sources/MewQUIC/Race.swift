internal import MewBase

/// A dial under way.
struct Dial {
    /// The present attempt.
    let connection: ConnectionDriver
    var race: Race
}

/// The ways of one dial and what became of each. A value.
struct Race {
    private(set) var attempts: [(route: Route, outcome: String?)]
    /// When a carrier said first that its peer is not there.
    private var absences: [Route: Instant] = [:]

    /// More than a peer with several networks has; the rest is ignored, so that one record cannot make us a flood.
    static let maxCandidates = 16
    /// A relay that restarts is back within two seconds (spec/iroh-wire.md §4.4), and its other clients about then. The first
    /// flight is repeated after one and after three.
    static let absence: Duration = .seconds(2)

    init(_ routes: [Route]) {
        var seen: Set<Route> = []
        attempts = routes.filter { seen.insert($0).inserted }.prefix(Self.maxCandidates).map { ($0, nil) }
    }

    /// Ways nothing is known against.
    var live: [Route] { attempts.filter { $0.outcome == nil }.map(\.route) }

    mutating func failed(_ route: Route, _ outcome: String) {
        for index in attempts.indices where attempts[index].route == route && attempts[index].outcome == nil {
            attempts[index].outcome = outcome
        }
    }

    /// It has failed when that was said for the time of `absence`: a peer may be on its way there.
    mutating func absent(_ route: Route, now: Instant) {
        let first = absences[route] ?? now
        absences[route] = first
        if first.duration(to: now) >= Self.absence { failed(route, "not there") }
    }

    /// Half a sentence for each way; `rest` for those nothing was heard about.
    func outcomes(rest: String) -> [DialFailure.Attempt] {
        attempts.map { DialFailure.Attempt(route: $0.route, outcome: $0.outcome ?? rest) }
    }
}
