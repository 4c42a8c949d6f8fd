internal import CQuic

// Opening, reading, writing and ending streams: what the application asks for, and what the library reports.

extension ConnectionCore {
    package enum Direction: Sendable { case bidirectional, unidirectional }

    /// Opens a stream; nil while the peer allows no more (a `streamsAllowed` event follows when it does).
    package func openStream(_ direction: Direction) throws(QUICError) -> StreamCore? {
        try requireOpen()
        var id: Int64 = -1
        let status =
            switch direction {
            case .bidirectional: ngtcp2_conn_open_bidi_stream(connection, &id, nil)
            case .unidirectional: ngtcp2_conn_open_uni_stream(connection, &id, nil)
            }
        switch status {
        case 0: break
        case NGTCP2_ERR_STREAM_ID_BLOCKED: return nil
        default: throw .refused("open a stream: \(String(cString: ngtcp2_strerror(status)))")
        }
        let stream = StreamCore(id: id)
        if direction == .unidirectional { stream.receiving = .ended }
        adopt(stream)
        return stream
    }

    /// Whether `openStream` would open one now; true also when it would throw.
    package func mayOpenStream(_ direction: Direction) -> Bool {
        guard closure == nil, pendingClose == nil else { return true }
        switch direction {
        case .bidirectional: return ngtcp2_conn_get_streams_bidi_left(connection) > 0
        case .unidirectional: return ngtcp2_conn_get_streams_uni_left(connection) > 0
        }
    }

    private func adopt(_ stream: StreamCore) {
        streams.insert(stream)
        ngtcp2_conn_set_stream_user_data(connection, stream.id, stream.pointer)
    }

    /// The oldest unread bytes; nil when there are none right now. Reading is what lets the peer send more.
    package func read(_ stream: StreamCore) -> [UInt8]? {
        stream.isReadableSignalled = false
        guard let chunk = stream.receive.take() else { return nil }
        credit(stream, chunk.count)
        return chunk
    }

    /// Queues as much of `bytes` as the stream takes now and says how much that was. When it was not all, a `writable`
    /// event follows.
    package func write(_ bytes: UnsafeRawBufferPointer, to stream: StreamCore) throws(QUICError) -> Int {
        try requireOpen()
        switch stream.sending {
        case .open: break
        case .finishing, .finished, .reset: throw .finished
        case .stopped: throw .stopped
        }
        let count = min(bytes.count, room(in: stream))
        stream.hasWaitingWriter = count < bytes.count
        if count > 0 {
            stream.send.append(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            streams.unsentBytes += count
            streams.retainedBytes += count
            streams.enqueue(stream)
        }
        if stream.hasWaitingWriter, role == .server { streams.crowd(stream) }
        return count
    }

    /// How much `write` takes now.
    package func room(in stream: StreamCore) -> Int {
        let unsent = stream.send.unsentBytes
        return max(
            0,
            min(
                configuration.unsentBytesPerStream - unsent,
                configuration.retainedBytesPerStream - stream.send.retainedBytes,
                max(configuration.unsentBytesAssured - unsent, unsentRoomForAll),
                max(configuration.unsentBytesAssured - stream.send.retainedBytes, retainedRoomForAll)))
    }

    /// How much all streams together may still hold unsent; whoever dials has few connections, and no such bound.
    private var unsentRoomForAll: Int {
        switch role {
        case .client: .max
        case .server: configuration.unsentBytesPerAcceptedConnection - streams.unsentBytes
        }
    }

    /// The same until it is acknowledged.
    private var retainedRoomForAll: Int {
        switch role {
        case .client: .max
        case .server: configuration.retainedBytesPerAcceptedConnection - streams.retainedBytes
        }
    }

    /// Ends our direction behind what was written. Harmless when it is over already.
    package func finish(_ stream: StreamCore) {
        guard closure == nil, stream.sending == .open else { return }
        stream.sending = .finishing
        streams.enqueue(stream)
    }

    /// Gives our direction up: what was not delivered yet is lost. Harmless when it is over already.
    package func reset(_ stream: StreamCore, code: UInt64) {
        guard closure == nil else { return }
        switch stream.sending {
        case .open, .finishing, .finished: break
        case .reset, .stopped: return
        }
        stream.sending = .reset(code: code)
        ngtcp2_conn_shutdown_stream_write(connection, 0, stream.id, code)
        wakeWriter(stream)
    }

    /// Asks the peer to stop sending and drops what is unread. Harmless when its direction is over already.
    package func stop(_ stream: StreamCore, code: UInt64) {
        guard closure == nil else { return }
        switch stream.receiving {
        case .open: ngtcp2_conn_shutdown_stream_read(connection, 0, stream.id, code)
        case .ended: break
        case .reset, .stopped: return
        }
        stream.receiving = .stopped
        credit(stream, stream.receive.discard())
    }

    /// The application has let go of the stream and will not use it again. Once for each stream.
    package func release(_ stream: StreamCore) {
        stream.isReleased = true
        if closure == nil { creditIfForgotten(stream) }
    }

    private func credit(_ stream: StreamCore, _ byteCount: Int) {
        guard closure == nil, byteCount > 0 else { return }
        if !stream.isClosed {
            ngtcp2_conn_extend_max_stream_offset(connection, stream.id, UInt64(byteCount))
        }
        if isAuthorized {
            ngtcp2_conn_extend_max_offset(connection, UInt64(byteCount))
        } else {
            // What a stranger may send in all does not grow by our reading it.
            streams.uncreditedBytes += UInt64(byteCount)
        }
    }

    func requireOpen() throws(QUICError) {
        if let closure { throw .closed(closure) }
        if let pendingClose { throw .closed(pendingClose.closure) }
    }
}

// What the library reports.

extension ConnectionCore {
    func peerOpened(_ id: Int64) {
        let stream = StreamCore(id: id)
        if !stream.isBidirectional { stream.sending = .finished }
        adopt(stream)
        events.append(.opened(stream))
    }

    func receivedStreamData(on stream: StreamCore, _ bytes: UnsafeRawBufferPointer, isLast: Bool) {
        peerSaid()
        guard stream.receiving == .open else { return }
        if !bytes.isEmpty { stream.receive.append(bytes) }
        if isLast { stream.receiving = .ended }
        signalReadable(stream)
    }

    func peerReset(_ stream: StreamCore?, code: UInt64) {
        // After the last byte has arrived it means nothing: the reader still gets them all (RFC 9000 §3.2, "Data Recvd").
        guard let stream, stream.receiving == .open else { return }
        stream.receiving = .reset(code: code)
        credit(stream, stream.receive.discard())
        signalReadable(stream)
    }

    /// An attempt to send was refused: the peer asked us to stop, and the library has reset the stream.
    func peerStopped(_ stream: StreamCore) {
        switch stream.sending {
        case .open, .finishing: stream.sending = .stopped
        case .finished, .reset, .stopped: break
        }
        wakeWriter(stream)
    }

    func acknowledged(_ stream: StreamCore, through offset: UInt64) {
        let before = stream.send.acknowledged
        stream.send.acknowledge(through: offset)
        let count = Int(stream.send.acknowledged - before)
        streams.retainedBytes -= count
        flight.settledStreamBytes(count, now: now)
        if stream.hasWaitingWriter { wakeWriterIfRoom(stream) }
        wakeCrowdedWriters()
    }

    func windowGrew(_ stream: StreamCore?) {
        guard let stream else { return }
        streams.unblock(stream)
    }

    func streamClosed(_ stream: StreamCore?, id: Int64) {
        guard let stream else { return }
        counters.lostStreamPackets += UInt64(ngtcp2_conn_get_stream_loss_count(connection, id))
        stream.isClosed = true
        flight.settledStreamBytes(Int(stream.send.sent - stream.send.acknowledged), now: now)
        streams.unsentBytes -= stream.send.unsentBytes
        streams.retainedBytes -= stream.send.retainedBytes
        stream.send.discard()
        streams.remove(stream)
        wakeCrowdedWriters()
        if stream.receiving == .open { stream.receiving = .ended }
        peerStopped(stream)
        signalReadable(stream)
        creditIfForgotten(stream)
    }

    /// The peer may open another stream in place of one that is over *and* that the application has let go of: otherwise a
    /// peer could fill our memory with streams that it opens and gives up at once, and that nobody accepts.
    private func creditIfForgotten(_ stream: StreamCore) {
        guard stream.isClosed, stream.isReleased, ngtcp2_conn_is_local_stream(connection, stream.id) == 0 else {
            return
        }
        switch (isAuthorized, stream.isBidirectional) {
        case (true, true): ngtcp2_conn_extend_max_streams_bidi(connection, 1)
        case (true, false): ngtcp2_conn_extend_max_streams_uni(connection, 1)
        case (false, true): streams.uncreditedBidirectional += 1
        case (false, false): streams.uncreditedUnidirectional += 1
        }
    }

    private func signalReadable(_ stream: StreamCore) {
        guard !stream.isReadableSignalled else { return }
        stream.isReadableSignalled = true
        events.append(.readable(stream))
    }

    /// Half the room must be free, so that a writer is not woken for every packet: half of what is assured when others have
    /// taken the rest.
    func wakeWriterIfRoom(_ stream: StreamCore) {
        guard stream.hasWaitingWriter else { return }
        let room = room(in: stream)
        let isAssured =
            room * 2 >= configuration.unsentBytesAssured
            && stream.send.unsentBytes * 2 <= configuration.unsentBytesAssured
        if isAssured || room * 2 >= configuration.unsentBytesPerStream { wakeWriter(stream) }
    }

    /// Others have sent or are gone: those that wait for the total are looked at, in the order in which they came.
    func wakeCrowdedWriters() {
        guard streams.isCrowded,
            min(unsentRoomForAll, retainedRoomForAll) >= configuration.unsentBytesPerStream / 2
        else { return }
        for stream in streams.takeCrowded() {
            wakeWriterIfRoom(stream)
            if stream.hasWaitingWriter { streams.crowd(stream) }
        }
    }

    private func wakeWriter(_ stream: StreamCore) {
        guard stream.hasWaitingWriter else { return }
        stream.hasWaitingWriter = false
        events.append(.writable(stream))
    }
}
