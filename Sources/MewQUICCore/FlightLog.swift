internal import CQuic
package import MewBase

/// What is under way on the present path, and when the peer last answered for some of it. The library tells neither.
struct FlightLog {
    /// Since when something is under way without a break; nil while nothing is.
    private(set) var since: Instant?
    private(set) var lastAcknowledged = Instant.zero
    /// Stream bytes that were sent and are not acknowledged.
    private(set) var streamBytes = 0
    /// When the first of them was sent, or when some were last acknowledged.
    private(set) var lastStreamProgress = Instant.zero

    /// Before a burst: what the library gave up as lost is not under way any more.
    mutating func willSend(bytesInFlight: UInt64) {
        if bytesInFlight == 0 { since = nil }
    }

    mutating func sent(bytesInFlight: UInt64, now: Instant) {
        if since == nil, bytesInFlight > 0 { since = now }
    }

    /// One datagram was read. What is under way becomes less then only because it was acknowledged, or is found lost by
    /// what was acknowledged.
    mutating func received(before: UInt64, after: UInt64, now: Instant) {
        if after < before { lastAcknowledged = now }
    }

    mutating func sentStreamBytes(_ count: Int, now: Instant) {
        guard count > 0 else { return }
        if streamBytes == 0 { lastStreamProgress = now }
        streamBytes += count
    }

    /// Bytes that were acknowledged, or that nobody waits for any more.
    mutating func settledStreamBytes(_ count: Int, now: Instant) {
        streamBytes -= count
        lastStreamProgress = now
    }
}

extension ConnectionCore {
    var bytesInFlight: UInt64 {
        var info = ngtcp2_conn_info()
        ngtcp2_conn_get_conn_info_versioned(connection, NGTCP2_CONN_INFO_VERSION, &info)
        return info.bytes_in_flight
    }

    /// Since when something is under way on this path without any acknowledgement; nil while nothing is.
    package var unansweredSince: Instant? {
        guard bytesInFlight > 0, let since = flight.since else { return nil }
        return max(since, flight.lastAcknowledged, pathSince)
    }

    /// Whether something is under way for so long without a sign of life of the peer that it is probably lost.
    package func wasSilent(now: Instant) -> Bool {
        // Spares most packets the questions to the library.
        guard isConfirmed, counters.lastProof.duration(to: now) >= Self.silence, let since = unansweredSince else {
            return false
        }
        return since.duration(to: now) >= max(Self.silence, probeTimeout * 3)
    }

    /// A process that the machine does not let run for so long is not silent.
    private static let silence: Duration = .milliseconds(500)

    /// When the peer last acknowledged something; before the first time, when the machine started.
    package var lastAcknowledged: Instant { flight.lastAcknowledged }

    /// Since when stream data is under way and none of it is acknowledged; nil while there is none. When this is long ago
    /// and `unansweredSince` is not, only small packets arrive.
    package var stalledSince: Instant? {
        flight.streamBytes > 0 ? max(flight.lastStreamProgress, pathSince) : nil
    }
}
