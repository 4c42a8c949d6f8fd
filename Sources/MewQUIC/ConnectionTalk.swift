package import MewBase
package import MewPath
internal import MewQUICCore
package import MewWire

/// What one connection keeps for its path messages.
struct ConnectionTalk {
    var talk: PathTalk
    /// Listener only.
    var schedule = CallSchedule()
    /// Listener only: the addresses of the dialler that are being asked.
    var punch = PunchRound()
    /// Listener only: the dialler has offered its addresses and hears where we are.
    var owesCall: OwedCall?
    /// Dialler only: ways that the listener shall know.
    var announcements = Announcements<Route>()
    /// Ways by which path messages of the peer came, the last one first: it can be called there, although it uses them for
    /// nothing else.
    private(set) var ways: [Outlet] = []
    /// Listener only: which of our connection IDs the last packet of the dialler had.
    var heardID: LocalConnectionID?
    /// Dialler only: what to make of a call that the listener does not hear us.
    var doubt = UnheardDoubt()
    /// Dialler only: the call that was passed on last.
    private var lastCall: (call: Call, at: Instant)?
    /// An honest listener calls four times a second at most; each call has us look at up to 16 addresses.
    private var calling = RateLimit(burst: 8, perSecond: 4)

    struct OwedCall {
        let offered: Instant
        /// When it is called at the latest, with what is known then; never once it was.
        var by: Instant
    }

    /// How long a call waits for what the outside says of our addresses. The dialler asks for 700 ms.
    static let presencePatience: Duration = .milliseconds(300)
    /// News that come so long after an offer are told without being asked for; after that the next offer asks.
    static let offerAge: Duration = .seconds(5)

    /// As many legs as a dialler keeps, and the addresses it was probed from.
    static let maxWays = 8

    /// Listener: when it last looked whether its large packets arrive.
    var stallLooked = Instant.zero

    /// Shorter is bad luck.
    static let stallPatience: Duration = .seconds(1)
    private static let stallInterval: Duration = .milliseconds(250)

    /// When to look whether data that waits since then arrives at last.
    func stallDeadline(since: Instant?) -> Instant {
        guard let due = since?.advanced(by: Self.stallPatience) else { return .distantFuture }
        return due > stallLooked ? due : stallLooked.advanced(by: Self.stallInterval)
    }

    init(_ keys: PathKeys) {
        talk = PathTalk(keys)
    }

    /// Less than what lies between two calls: what comes within it by another way is a copy.
    static let copyTime: Duration = .milliseconds(200)

    /// False for a copy, and for one call too many.
    mutating func passesOn(_ call: Call, now: Instant) -> Bool {
        if let lastCall, lastCall.call == call, lastCall.at.duration(to: now) < Self.copyTime { return false }
        guard calling.take(now: now) else { return false }
        lastCall = (call, now)
        return true
    }

    var deadline: Instant {
        min(schedule.deadline, announcements.deadline, punch.deadline, owesCall?.by ?? .distantFuture)
    }

    /// Relays are kept before addresses: one that the dialler opened once stays open.
    mutating func noteWay(_ way: Outlet) {
        ways.removeAll { $0.route == way.route }
        ways.insert(way, at: 0)
        guard ways.count > Self.maxWays else { return }
        if let index = ways.lastIndex(where: { if case .direct = $0.route { true } else { false } }) {
            ways.remove(at: index)
        } else {
            ways.removeLast()
        }
    }
}

/// What the listener of one connection tells its dialler.
package struct PeerCall: Sendable, Hashable {
    package let call: Call
    /// The listener hears nothing on the path that carries the connection now.
    package let isUnheard: Bool
    /// By which way it came.
    package let route: Route
}

/// Where this node can be reached.
package struct Presence: Sendable, Hashable {
    /// The likeliest first; more than a call holds are left out.
    package var candidates: [SocketAddress]
    /// Home first.
    package var relays: [RelayURL]
    /// The addresses of this machine, port 0; nil when that is not known. A connection to another one is over there.
    package var machine: Set<SocketAddress>?
    /// What was found out about its network.
    package var nat: NATReport?

    package init(
        candidates: [SocketAddress] = [], relays: [RelayURL] = [], machine: Set<SocketAddress>? = nil,
        nat: NATReport? = nil
    ) {
        self.candidates = candidates
        self.relays = relays
        self.machine = machine
        self.nat = nat
    }

    /// Whether packets may still leave from `address`, and reach it.
    func has(_ address: SocketAddress?) -> Bool {
        guard let address, let machine else { return true }
        // Without the scope: not every report of the kernel has it.
        return machine.contains {
            ($0.family, $0.high, $0.low) == (address.family, address.high, address.low)
        }
    }
}
