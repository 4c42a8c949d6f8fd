internal import CQuic
package import MewBase

/// What a connection counted so far.
struct ConnectionCounters {
    var packetsSent: UInt64 = 0
    var packetsReceived: UInt64 = 0
    var bytesSent: UInt64 = 0
    var bytesReceived: UInt64 = 0
    /// Packets of streams that are over and that the library declared lost.
    var lostStreamPackets: UInt64 = 0
    var lastProof = Instant.zero
}

/// A snapshot of a connection for status lines and measurements.
package struct ConnectionStatistics: Sendable {
    /// Smoothed; nil before the first sample.
    package let roundTrip: Duration?
    package let congestionWindow: UInt64
    package let bytesInFlight: UInt64
    package let packetsSent: UInt64
    package let packetsReceived: UInt64
    package let bytesSent: UInt64
    package let bytesReceived: UInt64
    /// Packets with stream data that were declared lost.
    package let lostStreamPackets: UInt64
    package let droppedDatagrams: UInt64
    /// Largest UDP payload that the path is known to carry.
    package let pathPayloadBytes: Int
    package let path: CorePath
    /// Since when this path carries the connection.
    package let pathSince: Instant
    /// When the peer last sent something that passed the cipher.
    package let lastProof: Instant
    /// When the peer last acknowledged something; before the first time, when the machine started.
    package let lastAcknowledged: Instant
}

extension ConnectionCore {
    /// When the peer last sent something that passed the cipher.
    package var lastProof: Instant { counters.lastProof }

    package var statistics: ConnectionStatistics {
        var info = ngtcp2_conn_info()
        ngtcp2_conn_get_conn_info_versioned(connection, NGTCP2_CONN_INFO_VERSION, &info)
        // Before the first sample the library shows no latest round trip.
        let hasSample = info.latest_rtt != 0
        let lost = streams.byID.keys.reduce(counters.lostStreamPackets) { total, id in
            total + UInt64(ngtcp2_conn_get_stream_loss_count(connection, id))
        }
        return ConnectionStatistics(
            roundTrip: hasSample ? .nanoseconds(Int64(clamping: info.smoothed_rtt)) : nil,
            congestionWindow: info.cwnd, bytesInFlight: info.bytes_in_flight, packetsSent: counters.packetsSent,
            packetsReceived: counters.packetsReceived, bytesSent: counters.bytesSent,
            bytesReceived: counters.bytesReceived, lostStreamPackets: lost, droppedDatagrams: datagrams.dropped,
            pathPayloadBytes: Int(ngtcp2_conn_get_path_max_tx_udp_payload_size(connection)), path: path,
            pathSince: pathSince, lastProof: counters.lastProof, lastAcknowledged: flight.lastAcknowledged)
    }
}
