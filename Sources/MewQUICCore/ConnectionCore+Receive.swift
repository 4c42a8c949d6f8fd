internal import CQuic
internal import CQuicShim
package import MewBase

// Packets in, and the library's timers.

extension ConnectionCore {
    /// Feeds one datagram that was addressed to one of our connection IDs.
    ///
    /// - Returns: true when the peer itself sent at least one packet of it (it passed the cipher).
    @discardableResult
    package func receive(_ datagram: UnsafeRawBufferPointer, on path: CorePath, ecn: UInt8, now: Instant) -> Bool {
        guard closure == nil, pendingClose == nil else { return false }
        let time = timestamp(now)
        incomingPath.set(path)
        var info = ngtcp2_pkt_info(ecn: ecn)
        let before = mq_decrypted_packets()
        let flightBefore = bytesInFlight
        let status = ngtcp2_conn_read_pkt_versioned(
            connection, incomingPath.pointer, NGTCP2_PKT_INFO_VERSION, &info,
            datagram.baseAddress?.assumingMemoryBound(to: UInt8.self), datagram.count, time)
        hasReceived = true
        let isProof = mq_decrypted_packets() != before
        counters.packetsReceived += 1
        counters.bytesReceived += UInt64(datagram.count)
        if isProof {
            counters.lastProof = self.now
            flight.received(before: flightBefore, after: bytesInFlight, now: self.now)
        }
        if status != 0, !isMiscounted(status) {
            failed(status)
        } else if mayHaveMoved || path != self.path {
            notePath()
        }
        return isProof
    }

    /// The library says that the peer has given more connection IDs than it may. A listener of ngtcp2 1.11 says so of honest
    /// peers: one that changes its address without a new ID while an earlier move is still being checked has an ID counted
    /// that we have retired (mended in later versions: "Do not retire the fallback DCID if it is still used"). So the packet
    /// counts as lost; the peer repeats it, the ID is then passed over, and the connection has one spare ID less. What a
    /// peer gains that does give too many is nothing: they are not kept.
    private func isMiscounted(_ status: Int32) -> Bool { status == NGTCP2_ERR_CONNECTION_ID_LIMIT }

    /// When `expire` is due next.
    ///
    /// While nothing waits to be sent, all timers are for something that did not happen: an answer that would have carried
    /// the acknowledgement, an acknowledgement of ours. They may be late by the granularity of RFC 9002 §6.1.2, and so
    /// hardly any of them ever runs: what they wait for happens first. On a path of microseconds the library would
    /// otherwise have an eighth of a round trip pass before it acknowledges every other packet in a packet of its own.
    package var deadline: Instant {
        if closure != nil { return .distantFuture }
        let expiry = ngtcp2_conn_get_expiry(connection)
        guard isEstablished, !streams.hasSender, !datagrams.hasOutgoing else { return Instant(nanoseconds: expiry) }
        let soon = now.nanoseconds + Self.timerGranularity
        return Instant(nanoseconds: expiry >= soon ? expiry : min(soon, expiry + Self.timerGranularity))
    }

    /// Nanoseconds.
    private static let timerGranularity: UInt64 = 1_000_000

    /// Runs the timers that are due. Harmless when none is.
    package func expire(now: Instant) {
        guard closure == nil, pendingClose == nil else { return }
        let status = ngtcp2_conn_handle_expiry(connection, timestamp(now))
        // A new path that did not answer in time is given up for the one before.
        if status != 0 { failed(status) } else if mayHaveMoved { notePath() }
    }

    func receivedReset() {
        end(.reset)
    }

    func receivedDatagram(_ bytes: UnsafeRawBufferPointer) {
        peerSaid()
        if let onDatagram { return onDatagram(bytes) }
        datagrams.enqueueIncoming(Array(bytes))
        events.append(.datagram)
    }

    package var hasDatagram: Bool { datagrams.hasIncoming }

    package func takeDatagram() -> [UInt8]? {
        datagrams.takeIncoming()
    }
}
