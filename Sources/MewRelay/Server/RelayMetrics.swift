/// What a relay counts: totals since it started, and what is there now.
package struct RelayMetrics: Equatable, Sendable {
    package var accepted = 0
    package var refused = 0
    package var dismissed = 0
    package var admitted = 0
    package var denied = 0
    package var violations = 0
    package var silent = 0
    package var stalled = 0
    package var framesForwarded = 0
    package var packetsForwarded = 0
    package var bytesForwarded = 0
    package var packetsUnknownReceiver = 0
    package var packetsQueueFull = 0
    package var packetsExpired = 0
    package var rateLimited = 0
    package var recordsStored = 0
    package var recordsServed = 0
    package var recordsRefused = 0
    package var versionNegotiations = 0
    package var capsulePackets = 0
    package var packetsRepeated = 0
    package var stunAnswers = 0
    package var stunRefusals = 0
    package var stunOverBudget = 0

    // Gauges.
    package var connections = 0
    package var http3Connections = 0
    package var strangers = 0
    package var sources = 0
    package var nodes = 0
    package var records = 0

    package init() {}

    private static let counters: [(String, String, @Sendable (RelayMetrics) -> Int)] = [
        ("connections_accepted_total", "connections that were taken", { $0.accepted }),
        ("connections_refused_total", "connections beyond a bound", { $0.refused }),
        ("strangers_dismissed_total", "strangers that gave way to others", { $0.dismissed }),
        ("clients_admitted_total", "clients that proved a node ID and may use the relay", { $0.admitted }),
        ("clients_denied_total", "clients that may not, or proved nothing", { $0.denied }),
        ("violations_total", "connections ended because they broke the protocol", { $0.violations }),
        ("clients_silent_total", "clients that answered no ping", { $0.silent }),
        ("clients_stalled_total", "clients that took nothing of what waited for them", { $0.stalled }),
        ("frames_forwarded_total", "frames taken for a receiver, batches counted once", { $0.framesForwarded }),
        ("packets_forwarded_total", "packets taken for a receiver; some expire", { $0.packetsForwarded }),
        ("bytes_forwarded_total", "bytes of these packets", { $0.bytesForwarded }),
        ("packets_unknown_receiver_total", "packets for a node that is not here", { $0.packetsUnknownReceiver }),
        ("packets_queue_full_total", "packets dropped because too many waited", { $0.packetsQueueFull }),
        ("packets_expired_total", "packets dropped because they waited too long", { $0.packetsExpired }),
        (
            "rate_limited_total", "times a client had to wait, or lost a packet, because it sent more than it may",
            { $0.rateLimited }
        ),
        ("records_stored_total", "address records stored", { $0.recordsStored }),
        ("records_served_total", "address records served", { $0.recordsServed }),
        ("records_refused_total", "address records that were none", { $0.recordsRefused }),
        ("capsule_packets_total", "packets that came over HTTP/3 and fitted into no datagram", { $0.capsulePackets }),
        (
            "packets_repeated_total", "packets that were lost on the way to a client over HTTP/3 and sent again",
            { $0.packetsRepeated }
        ),
        (
            "version_negotiations_total", "probes for address discovery that were told to give up",
            { $0.versionNegotiations }
        ),
        ("stun_answers_total", "STUN requests that were told where they came from", { $0.stunAnswers }),
        ("stun_refusals_total", "STUN requests that were answered with an error", { $0.stunRefusals }),
        ("stun_over_budget_total", "STUN requests beyond a budget, not answered", { $0.stunOverBudget }),
    ]

    private static let gauges: [(String, String, @Sendable (RelayMetrics) -> Int)] = [
        ("connections", "connections", { $0.connections }),
        ("http3_connections", "of these, over HTTP/3", { $0.http3Connections }),
        ("strangers", "connections that have not proven a node ID", { $0.strangers }),
        ("sources", "networks that have a connection", { $0.sources }),
        ("nodes", "node IDs that packets can be sent to", { $0.nodes }),
        ("records", "address records kept", { $0.records }),
    ]

    /// Prometheus text, version 0.0.4.
    package var prometheusText: String {
        let all = Self.counters.map { ($0, "counter") } + Self.gauges.map { ($0, "gauge") }
        return all.map { metric, type in
            let name = "mew_relay_\(metric.0)"
            return "# HELP \(name) \(metric.1)\n# TYPE \(name) \(type)\n\(name) \(metric.2(self))\n"
        }.joined()
    }
}
