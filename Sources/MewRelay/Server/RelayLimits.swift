package import MewPath

/// Every number that keeps strangers from using up a relay, in one place.
package struct RelayLimits: Sendable {
    /// Connections of all kinds. A connection has a descriptor and, idle, about two kilobytes of ours and some of the kernel's.
    package var connections = 10_000
    /// Connections that have not proven a node ID yet: each may cost a TLS handshake.
    package var strangers = 512
    /// The same of one source: an IPv4 /24 or an IPv6 /56, what one household or one small host has.
    package var strangersPerSource = 64
    /// Connections of one source: an office behind one address still fits.
    package var connectionsPerSource = 1_024
    /// From the first byte to a node ID that is proven. The reference server gives 30 s to the upgrade alone; a real client
    /// needs two round trips.
    package var admission: Duration = .seconds(10)
    /// When there is no room for another stranger, one that has been here for so long gives way. Those who hold places and prove
    /// nothing keep real clients out only while they come faster than these leave.
    package var admissionWhenFull: Duration = .seconds(2)
    /// Connections beyond these bounds that are told why, in an answer to their request and within that time: for people who
    /// look for the cause. Each may cost a TLS handshake; the others are reset, which costs nothing.
    package var turnedAway = 64
    /// Of one source.
    package var turnedAwayPerSource = 8

    /// How old a packet may get while it waits for its receiver (DESIGN §7): longer, and QUIC has sent it again.
    package var queueTime: Duration = .milliseconds(200)
    /// Packets that wait from one sender to one receiver.
    package var queuedPacketsPerPair = 64
    /// Bytes that wait for one receiver from all senders: 512 packets of full size.
    package var queuedBytes = 768 << 10
    /// Bytes that wait for all receivers together: what 5 Gbit/s bring in the time that packets may wait.
    package var queuedBytesInAll = 128 << 20
    /// Pongs and the like that wait for one client: who asks for more than this without reading them is not served.
    package var queuedAnswers = 256
    /// The same for what is about others, who could make us say so much that no answer has room.
    package var queuedHints = 64

    /// The same for clients over HTTP/3; what is ours goes another way there.
    var lanes: PacketLanes.Limits {
        .init(
            packets: queuedPacketsPerPair, bytes: queuedBytes, bytesInAll: queuedBytesInAll, age: queueTime, answers: 0)
    }

    var queue: FrameQueue<ConnectionNumber>.Limits {
        .init(
            packets: queuedPacketsPerPair, bytes: queuedBytes, bytesInAll: queuedBytesInAll, age: queueTime,
            answers: queuedAnswers, hints: queuedHints)
    }

    /// How long a client may take nothing of what waits for it before it counts as gone. The reference server gives 2 s to a
    /// frame; a phone's radio may sleep longer than that.
    package var stall: Duration = .seconds(10)

    /// Connections that one node ID may have besides the newest: clients that come back before their old connection is known
    /// to be dead.
    package var inactivePerNode = 4
    /// Nodes that are told when one is gone. It is a hint: who stands behind this number does without.
    package var goneAudience = 1_024

    /// Bytes a second that one client may send; nil: as many as it can.
    package var bytesPerSecond: Int?
    /// The smallest rate there is: at half of it the pings of a client that sends all it can would come too late.
    package static let leastBytesPerSecond = 16 << 10
    /// What waits for a client that may not send yet holds up its pings: an eighth of a second.
    func unreadBytes(atRate rate: Int) -> Int { max(4 << 10, rate / 8) }
    /// What it may send at once. Not less than the largest frame, or that one could never be paid for.
    package var burstBytes: Int { max(128 << 10, (bytesPerSecond ?? 0) / 10) }

    /// Signed records that are kept: about 20 MB.
    package var records = 16_384
    /// Of one source: a household's devices, and not a list that pushes out everybody else's.
    package var recordsPerSource = 256
    /// A record that is not published again for so long is forgotten.
    package var recordLifetime: Duration = .seconds(24 * 3600)

    /// Answers to those who ask where they are.
    package var stun = StunService.Limits()

    /// What a client is told to wait before it comes back to a relay that restarts, and how long to try.
    package var restartIn: Duration = .seconds(2)
    package var restartFor: Duration = .seconds(30)
    /// How long a relay that ends waits for its goodbyes to leave.
    package var drain: Duration = .seconds(1)

    package init() {}

    /// Behind a proxy all clients are one source.
    package mutating func allowPerSource(_ count: Int) {
        connectionsPerSource = count
        strangersPerSource = min(count, strangers)
        recordsPerSource = min(count, records)
    }
}
