internal import CQuic
package import MewBase

/// What the packet writer remembers between calls, and the memory it lends to the library.
///
/// A class of constants: passing a property of the connection itself to the library would be checked for overlapping access
/// at every packet.
final class Transmitter {
    /// The library writes the path of each packet here.
    let path = PathStorage()
    let pieces = UnsafeMutablePointer<ngtcp2_vec>.allocate(capacity: 2)
    let info = UnsafeMutablePointer<ngtcp2_pkt_info>.allocate(capacity: 1)
    let consumed = UnsafeMutablePointer<ngtcp2_ssize>.allocate(capacity: 1)
    var held: HeldPacket?
    /// Bytes that may still leave in this burst (RFC 9002 §7.7).
    var quantum = 0

    init() {
        info.initialize(to: ngtcp2_pkt_info())
        consumed.initialize(to: 0)
    }

    deinit {
        pieces.deallocate()
        info.deallocate()
        consumed.deallocate()
    }
}

// Packets out.

extension ConnectionCore {
    /// Starts a burst: at most the send quantum leaves until the next one.
    package func beginBurst() {
        transmitter.quantum = closure == nil ? ngtcp2_conn_get_send_quantum(connection) : 0
        if flight.since != nil, closure == nil { flight.willSend(bytesInFlight: bytesInFlight) }
        if hasReceived {
            hasReceived = false
            streams.retryBlocked()
        }
    }

    /// Writes the next batch to the start of `target`, which must have 65,535 bytes; nil when nothing is due or the burst
    /// is used up. Take the events afterwards.
    package func transmit(into target: UnsafeMutableRawBufferPointer, now: Instant) -> PacketBatch? {
        guard closure == nil else { return nil }
        if let pendingClose { return writeClose(pendingClose, into: target, now: now) }
        let time = timestamp(now)
        var builder = BatchBuilder(target: target, maxPacketBytes: configuration.maxUDPPayload)
        if let held = transmitter.held {
            transmitter.held = nil
            builder.start(with: held)
        }
        while builder.hasRoom, transmitter.quantum > 0 {
            guard let count = writePacket(into: builder.next, time: time) else {
                transmitter.quantum = 0
                break
            }
            transmitter.quantum -= count
            let usual = transmitter.path.isSamePath(as: pathStorage)
            if let held = builder.append(
                count, path: usual ? path : transmitter.path.path, ecn: transmitter.info.pointee.ecn,
                isAlone: count > ngtcp2_conn_get_path_max_tx_udp_payload_size(connection))
            {
                transmitter.held = held
            }
        }
        // A listener's check of a new path ends here when its time is over: the library is back on the path before.
        if mayHaveMoved { notePath() }
        guard let batch = builder.batch else {
            if let pendingClose { return writeClose(pendingClose, into: target, now: now) }
            // Once a burst: this is where the library plans the next one.
            ngtcp2_conn_update_pkt_tx_time(connection, time)
            return nil
        }
        if flight.since == nil { flight.sent(bytesInFlight: bytesInFlight, now: self.now) }
        askedAfterPause()
        counters.packetsSent += UInt64(batch.packetCount)
        counters.bytesSent += UInt64(batch.byteCount)
        return batch
    }

    /// Writes one packet; nil when none is due, or when the library failed (a close is pending then).
    private func writePacket(into target: UnsafeMutableRawBufferPointer, time: ngtcp2_tstamp) -> Int? {
        if datagrams.hasOutgoing, let count = writeDatagrams(into: target, time: time) {
            return count > 0 ? count : nil
        }
        while true {
            let stream = sendingAllowed ? streams.nextSender() : nil
            let (count, consumed) = writeStream(stream, into: target, time: time)
            if let stream, consumed >= 0 { sent(consumed, of: stream) }
            switch Int32(truncatingIfNeeded: count) {
            case 1...:
                streams.rotate()
                return count
            case 0: return nil
            case NGTCP2_ERR_WRITE_MORE: continue
            case NGTCP2_ERR_STREAM_DATA_BLOCKED:
                if let stream, sendingAllowed { streams.block(stream) }
            case NGTCP2_ERR_STREAM_SHUT_WR, NGTCP2_ERR_STREAM_NOT_FOUND:
                if let stream { peerStopped(stream) }
            case let status:
                failed(status)
                return nil
            }
        }
    }

    /// False while the peer's window for all streams together is used up.
    private var sendingAllowed: Bool { isEstablished && ngtcp2_conn_get_max_data_left(connection) > 0 }

    private func writeStream(
        _ stream: StreamCore?, into target: UnsafeMutableRawBufferPointer, time: ngtcp2_tstamp
    ) -> (count: Int, consumed: Int) {
        var flags = UInt32(NGTCP2_WRITE_STREAM_FLAG_NONE)
        var pieceCount = 0
        if let stream {
            flags = UInt32(NGTCP2_WRITE_STREAM_FLAG_MORE)
            pieceCount = stream.send.nextPieces(transmitter.pieces)
            if stream.wantsFinish, pieceBytes(pieceCount) == stream.send.unsentBytes {
                flags |= UInt32(NGTCP2_WRITE_STREAM_FLAG_FIN)
            }
        }
        transmitter.consumed.pointee = -1
        let count = ngtcp2_conn_writev_stream_versioned(
            connection, transmitter.path.pointer, NGTCP2_PKT_INFO_VERSION, transmitter.info,
            target.baseAddress?.assumingMemoryBound(to: UInt8.self), target.count, transmitter.consumed, flags,
            stream?.id ?? -1, transmitter.pieces, pieceCount, time)
        return (count, transmitter.consumed.pointee)
    }

    private func pieceBytes(_ count: Int) -> Int {
        var total = 0
        for index in 0..<count { total += transmitter.pieces[index].len }
        return total
    }

    /// The library took `count` bytes; with the last ones it also took the end mark.
    private func sent(_ count: Int, of stream: StreamCore) {
        stream.send.advance(count)
        streams.unsentBytes -= count
        flight.sentStreamBytes(count, now: now)
        if stream.wantsFinish, stream.send.unsentBytes == 0 { stream.sending = .finished }
        wakeWriterIfRoom(stream)
        wakeCrowdedWriters()
    }

    /// Puts waiting datagrams into the packet, before any stream. Nil when the packet is not finished by that.
    private func writeDatagrams(into target: UnsafeMutableRawBufferPointer, time: ngtcp2_tstamp) -> Int? {
        while isEstablished {
            var accepted: Int32 = 0
            let written = datagrams.withNextOutgoing { bytes, number in
                var piece = ngtcp2_vec(base: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), len: bytes.count)
                return ngtcp2_conn_writev_datagram_versioned(
                    connection, transmitter.path.pointer, NGTCP2_PKT_INFO_VERSION, transmitter.info,
                    target.baseAddress?.assumingMemoryBound(to: UInt8.self), target.count, &accepted,
                    UInt32(NGTCP2_WRITE_DATAGRAM_FLAG_MORE), number, &piece, 1, time)
            }
            guard let count = written else { return nil }
            if accepted != 0 { datagrams.removeOutgoing() }
            switch Int32(truncatingIfNeeded: count) {
            case 0...: return count
            case NGTCP2_ERR_WRITE_MORE: continue
            // The peer takes none, or not of this size: nothing a later attempt would change.
            case NGTCP2_ERR_INVALID_STATE, NGTCP2_ERR_INVALID_ARGUMENT: datagrams.dropOutgoing()
            case let status:
                failed(status)
                return 0
            }
        }
        return nil
    }
}

extension ConnectionCore {
    /// Whom to ask for datagrams whenever one can be sent; not held.
    package func takeDatagrams(from source: any DatagramSource) {
        datagrams.source = source
    }

    /// Queues a datagram (RFC 9221). The oldest waiting one gives way when the queue is full.
    package func sendDatagram(_ bytes: [UInt8]) throws(QUICError) {
        try requireOpen()
        let limit = maxDatagramBytes
        guard bytes.count <= limit else { throw .datagramTooLarge(maxBytes: limit) }
        datagrams.enqueueOutgoing(bytes)
    }

    /// The largest datagram that fits into one packet now: header, cipher tag and frame header off the path's size.
    package var maxDatagramBytes: Int {
        guard isEstablished, let parameters = ngtcp2_conn_get_remote_transport_params(connection) else { return 0 }
        let frameLimit = Int(clamping: parameters.pointee.max_datagram_frame_size)
        let overhead = 1 + Int(ngtcp2_conn_get_dcid(connection).pointee.datalen) + 4 + 16
        let packetRoom = ngtcp2_conn_get_path_max_tx_udp_payload_size(connection) - overhead
        // Frame type and a two-byte length.
        return max(0, min(frameLimit, packetRoom) - 3)
    }
}
