internal import MewBase
internal import MewWire

/// The addresses of the peer and what is known against each. A value.
///
/// An address that did not answer, or that failed as a path, is left alone for a while that doubles each time: from
/// `firstQuarantine` to `longestQuarantine`. An event (`forgive`) ends all of that.
struct CandidateList: Sendable {
    struct Candidate: Sendable {
        let address: SocketAddress
        /// Why it is left alone; nil when nothing is known against it.
        var objection: WhyNotDirect.Code?
        var isProven = false
        var failures = 0
        var notBefore: Instant
        /// Not even a call of the peer makes it be tried before.
        var heldUntil = Instant.zero
        var lastTried: Instant?
        /// When a handshake went through there.
        var provenAt: Instant?
    }

    /// More than a peer with several networks has; the same bound as for one dial.
    static let limit = 16
    static let firstQuarantine: Duration = .seconds(5)
    static let longestQuarantine: Duration = .seconds(300)
    /// Between two tries of one address. A try sends two packets at once and two more after a second, so that no address
    /// gets more than four in any second.
    static let spacing: Duration = .seconds(1)

    private(set) var all: [Candidate] = []

    init(_ addresses: [SocketAddress], now: Instant) {
        for address in addresses.prefix(Self.limit) where index(of: address) == nil {
            all.append(Candidate(address: address, notBefore: now))
        }
    }

    private func index(of address: SocketAddress) -> Int? { all.firstIndex { $0.address == address } }

    subscript(address: SocketAddress) -> Candidate? { index(of: address).map { all[$0] } }

    /// Adds what is new, first: it is what the peer said last. The oldest give way.
    mutating func learn(_ addresses: [SocketAddress], keeping present: SocketAddress?, now: Instant) {
        let new = addresses.prefix(Self.limit).filter { index(of: $0) == nil }
        all.insert(contentsOf: new.map { Candidate(address: $0, notBefore: now) }, at: 0)
        while all.count > Self.limit, let oldest = all.lastIndex(where: { $0.address != present }) {
            all.remove(at: oldest)
        }
    }

    /// Those that may be tried now.
    func due(now: Instant) -> [SocketAddress] {
        all.filter { earliest($0) <= now }.map(\.address)
    }

    /// When the next one may be tried; nil without any.
    var nextDue: Instant? { all.map(earliest).min() }

    private func earliest(_ candidate: Candidate) -> Instant {
        guard let tried = candidate.lastTried else { return candidate.notBefore }
        return max(candidate.notBefore, tried.advanced(by: Self.spacing))
    }

    /// Something happened that may have changed everything: all may be tried at once, and start with a short wait again.
    mutating func forgive(now: Instant) {
        for index in all.indices {
            all[index].failures = 0
            all[index].notBefore = now
            all[index].objection = nil
        }
    }

    /// All may be tried at once; how long they have to wait afterwards is not forgotten.
    mutating func hurry(now: Instant) {
        for index in all.indices {
            all[index].notBefore = max(min(all[index].notBefore, now), all[index].heldUntil)
        }
    }

    mutating func tried(_ addresses: [SocketAddress], now: Instant) {
        for address in addresses { change(address) { $0.lastTried = now } }
    }

    /// It answered a packet of full size.
    mutating func answered(_ address: SocketAddress) {
        change(address) {
            $0.isProven = true
            $0.objection = nil
        }
    }

    /// A handshake with the peer went through there: whatever was known against it is over.
    mutating func prove(_ address: SocketAddress, now: Instant) {
        change(address) {
            $0.provenAt = now
            $0.failures = 0
            $0.objection = nil
            $0.notBefore = min($0.notBefore, now)
        }
    }

    /// It did not answer a probe, which says nothing when a handshake went through meanwhile.
    mutating func unanswered(_ address: SocketAddress, now: Instant) {
        guard let candidate = self[address] else { return }
        if let proven = candidate.provenAt, proven >= candidate.lastTried ?? .zero { return }
        failed(address, .noAnswer, now: now)
    }

    /// It carried the connection long enough that its earlier failures count no more.
    mutating func acquit(_ address: SocketAddress) {
        change(address) { $0.failures = 0 }
    }

    /// Harmless for one that is left alone already.
    mutating func failed(_ address: SocketAddress, _ objection: WhyNotDirect.Code, now: Instant) {
        change(address) {
            guard $0.notBefore <= now else { return }
            let quarantine = min(Self.firstQuarantine * (1 << min($0.failures, 10)), Self.longestQuarantine)
            $0.failures += 1
            $0.objection = objection
            $0.notBefore = now.advanced(by: quarantine)
        }
    }

    mutating func hold(_ address: SocketAddress, until time: Instant) {
        change(address) {
            $0.notBefore = time
            $0.heldUntil = time
        }
    }

    private mutating func change(_ address: SocketAddress, _ body: (inout Candidate) -> Void) {
        if let index = index(of: address) { body(&all[index]) }
    }
}
