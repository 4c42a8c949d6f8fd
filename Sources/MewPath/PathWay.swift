package import MewBase

/// A way to the peer, as `PathSelector` tells them apart.
package enum PathWay: Hashable, Sendable {
    case direct(SocketAddress)
    case relay(RelayNumber)
}

/// One of the relays that a connection may use, in the order in which they became known.
package struct RelayNumber: Hashable, Sendable, Comparable {
    package let index: Int

    package init(_ index: Int) {
        self.index = index
    }

    package static func < (left: RelayNumber, right: RelayNumber) -> Bool { left.index < right.index }
}

/// What is seen of a connection at one moment.
package struct PathSample: Hashable, Sendable {
    /// What carries it; nil when that is a relay we have left.
    package var way: PathWay?
    /// Since when.
    package var since: Instant
    /// Since when something is under way without any acknowledgement; nil while nothing is.
    package var unansweredSince: Instant?
    /// Since when stream data is under way and none of it is acknowledged; nil while there is none.
    package var stalledSince: Instant?
    /// When the peer last acknowledged something.
    package var lastAcknowledged: Instant
    /// RFC 9002 §6.2, without back-off.
    package var probeTimeout: Duration
    /// Round trips are counted that are much too long: packets of before the peer slept came after it.
    package var isMisled: Bool
    /// The peer knows path messages: where it is, it answers them.
    package var speaksBeside: Bool
    /// The handshake is confirmed: the connection can be moved.
    package var canMove: Bool

    package init(
        way: PathWay?, since: Instant, unansweredSince: Instant? = nil, stalledSince: Instant? = nil,
        lastAcknowledged: Instant = .zero, probeTimeout: Duration, isMisled: Bool = false,
        speaksBeside: Bool = false, canMove: Bool = true
    ) {
        (self.way, self.since, self.canMove) = (way, since, canMove)
        (self.isMisled, self.speaksBeside) = (isMisled, speaksBeside)
        (self.unansweredSince, self.stalledSince) = (unansweredSince, stalledSince)
        (self.lastAcknowledged, self.probeTimeout) = (lastAcknowledged, probeTimeout)
    }
}

extension PathSample {
    /// Something is under way for so long without an acknowledgement that the peer is probably not there, or does not hear us.
    package func isSilent(now: Instant) -> Bool {
        guard let unansweredSince else { return false }
        return unansweredSince.duration(to: now) >= max(PathSelector.shortestDoubt, probeTimeout * 2)
    }
}

/// What the peer says when it does not hear us, or when it has moved.
package struct PathCall: Hashable, Sendable {
    /// It hears nothing of us on the path that carries the connection.
    package var isUnheard: Bool
    /// Where it can be reached now.
    package var candidates: [SocketAddress]
    /// By which way the call came.
    package var cameBy: PathWay?
    /// What it has found out about its network.
    package var nat: NATReport?
    /// It answers to an offer of ours, which was made because its addresses are being tried.
    package var isReply: Bool
    /// How many more addresses it named, for which this machine has no socket.
    package var unroutable: Int

    package init(
        isUnheard: Bool, candidates: [SocketAddress], cameBy: PathWay?, nat: NATReport? = nil,
        isReply: Bool = false, unroutable: Int = 0
    ) {
        (self.isUnheard, self.candidates, self.cameBy) = (isUnheard, candidates, cameBy)
        (self.nat, self.isReply, self.unroutable) = (nat, isReply, unroutable)
    }
}
