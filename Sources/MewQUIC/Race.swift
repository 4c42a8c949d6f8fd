internal import MewBase

/// The addresses of one dial and what became of each. A value.
struct Race {
    private(set) var attempts: [(address: SocketAddress, outcome: String?)]

    /// More than a peer with several networks has; the rest is ignored, so that one record cannot make us a flood.
    static let maxCandidates = 16

    init(_ addresses: [SocketAddress]) {
        var seen: Set<SocketAddress> = []
        attempts = addresses.filter { seen.insert($0).inserted }.prefix(Self.maxCandidates).map { ($0, nil) }
    }

    /// Addresses nothing is known against.
    var live: [SocketAddress] { attempts.filter { $0.outcome == nil }.map(\.address) }

    mutating func failed(_ address: SocketAddress, _ outcome: String) {
        for index in attempts.indices where attempts[index].address == address && attempts[index].outcome == nil {
            attempts[index].outcome = outcome
        }
    }

    /// Half a sentence for each address; `rest` for those nothing was heard about.
    func outcomes(rest: String) -> [DialFailure.Attempt] {
        attempts.map { DialFailure.Attempt(address: $0.address, outcome: $0.outcome ?? rest) }
    }
}
