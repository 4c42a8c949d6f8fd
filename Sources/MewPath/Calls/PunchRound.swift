package import MewBase

/// The listener's half of a punch: small questions to every address that the dialler has offered, so that a firewall on our side
/// lets in what comes from there, while the dialler does the same. Until one of them answers. A value.
///
/// Nobody has to own what is offered: each address gets five packets of 88 bytes at most for one offer, is asked anew a second
/// later at the earliest, and all addresses of one connection together get what `budget` allows. Nothing large is ever sent
/// because of it.
///
/// Its owner calls `due` at `deadline` and after each offer.
package struct PunchRound: Sendable {
    private struct Target {
        let address: SocketAddress
        let began: Instant
        var asked = 0

        var next: Instant {
            asked < PunchRound.times.count ? began.advanced(by: PunchRound.times[asked]) : .distantFuture
        }
    }

    private var targets: [Target] = []
    /// What was sent in the last second.
    private var recent: [(address: SocketAddress, at: Instant)] = []
    private var budget = Self.budget

    /// After the offer. The dialler asks at 0, 200 and 700 ms of its own time, and each packet of either side may be the one
    /// that opens the way for the next.
    static let times: [Duration] = [
        .zero, .milliseconds(200), .milliseconds(450), .seconds(1), .milliseconds(1_700),
    ]
    /// Between two rounds to one address.
    static let spacing: Duration = .seconds(1)
    /// To one address in any second, calls included. The library may check a path there at the same time, with two packets: all
    /// together no more than five (`CandidateList.spacing`).
    static let perSecond = 3
    /// The same as the dialler's (`AddressCheck.budget`): two questions to each of as many as an offer names, at once.
    package static let budget = RateLimit(burst: 32, perSecond: 16)

    package init() {}

    /// Kept, because it is asked for after every packet of the connection.
    package private(set) var deadline = Instant.distantFuture

    /// Somebody is being asked.
    package var isRunning: Bool { deadline < .distantFuture }

    private mutating func noteDeadline() {
        deadline = targets.lazy.map { $0.next }.min() ?? .distantFuture
    }

    /// The dialler is at these now; what it named before is forgotten. One that is being asked goes on as it was.
    package mutating func offered(_ addresses: [SocketAddress], now: Instant) {
        var next: [Target] = []
        for address in addresses.prefix(Call.maxCandidates) where !next.contains(where: { $0.address == address }) {
            let old = targets.first { $0.address == address && $0.began.duration(to: now) < Self.spacing }
            next.append(old ?? Target(address: address, began: now))
        }
        targets = next
        noteDeadline()
    }

    /// The dialler has answered there: the way is open.
    package mutating func answered(_ address: SocketAddress) {
        guard targets.contains(where: { $0.address == address }) else { return }
        for index in targets.indices { targets[index].asked = Self.times.count }
        noteDeadline()
    }

    /// Whether one more question may go there now, whatever it asks.
    package mutating func takes(_ address: SocketAddress, now: Instant) -> Bool {
        recent.removeAll { $0.at.duration(to: now) >= .seconds(1) }
        guard recent.count(where: { $0.address == address }) < Self.perSecond else { return false }
        recent.append((address, now))
        return true
    }

    /// Whom to ask now.
    package mutating func due(now: Instant) -> [SocketAddress] {
        guard deadline <= now else { return [] }
        var addresses: [SocketAddress] = []
        for index in targets.indices where targets[index].next <= now {
            // What was missed while the machine did not run is not made up for.
            while targets[index].next <= now { targets[index].asked += 1 }
            let address = targets[index].address
            if budget.take(now: now), takes(address, now: now) { addresses.append(address) }
        }
        noteDeadline()
        return addresses
    }
}
