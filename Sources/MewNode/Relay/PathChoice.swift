import MewBase

/// When a dialled connection leaves its relay for an address, and when it goes back. A value.
///
/// An address that did not answer, or fell silent, is left alone for a while that doubles.
struct PathChoice {
    /// What is seen of the connection at one moment.
    struct Sample {
        /// The address that carries it; nil while a relay does.
        let address: SocketAddress?
        let hasDataInFlight: Bool
        let lastProof: Instant
        let roundTrip: Duration?
        /// Since when the present way is used.
        let since: Instant
        /// Since when the relay that is used is connected; nil while none is.
        let relaySince: Instant?
    }

    enum Step: Equatable {
        case stay
        /// See whether this address answers, and move there if it does.
        case probe(SocketAddress)
        /// The address is silent: back to a relay at once.
        case fallBack(from: SocketAddress)
        /// The relay was away, and what was sent meanwhile is lost: use it as a new way, which forgets how long the library
        /// had decided to wait.
        case renewRelay
    }

    private struct Candidate {
        let address: SocketAddress
        var failures = 0
        var notBefore: Instant
    }

    private var candidates: [Candidate]
    /// Since when something has been waiting for an acknowledgement without a sign of life.
    private var silentSince: Instant?

    /// Shorter silences are losses; with the time between two looks and a round trip over the relay it stays below 3 s.
    static let shortestSilence: Duration = .seconds(1)
    /// More round trips without any acknowledgement are no bad luck.
    static let silentRoundTrips = 6
    static let firstQuarantine: Duration = .seconds(5)
    static let longestQuarantine: Duration = .seconds(300)
    /// Those of the dial, and those of a call.
    static let maxCandidates = 32
    /// How often to look, while anything can change.
    static let interval: Duration = .milliseconds(250)

    init(_ addresses: [SocketAddress], now: Instant) {
        candidates = addresses.map { Candidate(address: $0, notBefore: now) }
    }

    mutating func look(at sample: Sample, now: Instant) -> Step {
        guard let address = sample.address else {
            silentSince = nil
            if sample.hasDataInFlight, let back = sample.relaySince, back > max(sample.since, sample.lastProof) {
                return .renewRelay
            }
            return candidates.first { $0.notBefore <= now }.map { .probe($0.address) } ?? .stay
        }
        guard sample.hasDataInFlight else {
            silentSince = nil
            return .stay
        }
        let since = max(silentSince ?? now, sample.lastProof)
        silentSince = since
        let limit = max(Self.shortestSilence, (sample.roundTrip ?? .zero) * Self.silentRoundTrips)
        guard since.duration(to: now) >= limit else { return .stay }
        silentSince = nil
        failed(address, now: now)
        return .fallBack(from: address)
    }

    /// The peer says where it is now: everything is tried again at once.
    mutating func called(_ addresses: [SocketAddress], now: Instant) {
        candidates = candidates.map { Candidate(address: $0.address, notBefore: now) }
        for address in addresses where candidates.count < Self.maxCandidates {
            guard !candidates.contains(where: { $0.address == address }) else { continue }
            candidates.append(Candidate(address: address, notBefore: now))
        }
    }

    /// It answered and carries the connection now.
    mutating func moved(to address: SocketAddress) {
        guard let index = candidates.firstIndex(where: { $0.address == address }) else { return }
        candidates[index].failures = 0
    }

    /// It did not answer, or it stopped.
    mutating func failed(_ address: SocketAddress, now: Instant) {
        guard let index = candidates.firstIndex(where: { $0.address == address }) else { return }
        let quarantine = min(Self.firstQuarantine * (1 << min(candidates[index].failures, 10)), Self.longestQuarantine)
        candidates[index].failures += 1
        candidates[index].notBefore = now.advanced(by: quarantine)
    }
}
