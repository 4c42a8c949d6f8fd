internal import MewBase

/// What happens to packets from one address to another.
package struct LinkProfile: Sendable {
    /// Time a packet needs at least.
    package var latency: Duration { didSet { latencyNanoseconds = UInt64(latency.saturatingNanoseconds) } }
    /// Up to this much is added to each packet by itself, so that packets overtake each other.
    package var jitter: Duration { didSet { jitterNanoseconds = UInt64(jitter.saturatingNanoseconds) } }
    /// Share of packets that vanish, 0…1.
    package var loss = 0.0
    /// Share of packets that arrive twice.
    package var duplicates = 0.0
    /// Largest IP packet, headers included. Larger ones vanish without a word, as behind a router that sends no ICMP.
    package var mtu = 1_500
    /// Nil: no limit.
    package var bytesPerSecond: Int?
    /// With a limit: how many bytes may wait in the router before it drops.
    package var queueBytes = 256 << 10
    /// Nothing passes.
    package var isDown = false
    /// No datagram passes, as in networks that know only TCP.
    package var dropsDatagrams = false
    /// No TCP passes.
    package var dropsStreams = false
    /// Every packet that passes is marked with this ECN codepoint if it carries one (3: congestion experienced).
    package var marksCongestion = false

    /// The two durations again: 128-bit arithmetic per packet shows in long runs.
    fileprivate(set) var latencyNanoseconds: UInt64
    fileprivate var jitterNanoseconds: UInt64

    package init(
        latency: Duration = .milliseconds(10), jitter: Duration = .zero, loss: Double = 0, duplicates: Double = 0,
        mtu: Int = 1_500
    ) {
        self.latency = latency
        self.jitter = jitter
        self.loss = loss
        self.duplicates = duplicates
        self.mtu = mtu
        latencyNanoseconds = UInt64(latency.saturatingNanoseconds)
        jitterNanoseconds = UInt64(jitter.saturatingNanoseconds)
    }
}

extension LinkProfile {
    func drops(_ kind: Flight.Kind) -> Bool {
        switch kind {
        case .packet, .unreachable: dropsDatagrams
        case .segment: dropsStreams
        }
    }
}

/// One direction between two addresses: its own profile, if it has one, and when its router is free again.
struct Link {
    /// Nil: the world's.
    var own: LinkProfile?
    private var busyUntil: UInt64 = 0

    /// When a packet that leaves now arrives, in nanoseconds; nil when it vanishes.
    ///
    /// - Parameter headerBytes: of IP and UDP.
    mutating func arrival(
        of byteCount: Int, headerBytes: Int, _ profile: LinkProfile, now: UInt64, _ random: inout SeededGenerator
    ) -> UInt64? {
        guard !profile.isDown, byteCount + headerBytes <= profile.mtu, !random.happens(profile.loss) else { return nil }
        guard let departure = departure(of: byteCount + headerBytes, profile, now: now) else { return nil }
        return departure + Self.delay(profile, &random)
    }

    private static func delay(_ profile: LinkProfile, _ random: inout SeededGenerator) -> UInt64 {
        let jitter = profile.jitterNanoseconds
        return profile.latencyNanoseconds + (jitter == 0 ? 0 : random.below(jitter))
    }

    private mutating func departure(of byteCount: Int, _ profile: LinkProfile, now: UInt64) -> UInt64? {
        guard let rate = profile.bytesPerSecond else { return now }
        let start = max(now, busyUntil)
        guard (start - now) / 1_000 * UInt64(rate) / 1_000_000 <= UInt64(profile.queueBytes) else { return nil }
        busyUntil = start + UInt64(byteCount) * 1_000_000_000 / UInt64(rate)
        return busyUntil
    }
}
