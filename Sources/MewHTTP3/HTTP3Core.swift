internal import CNghttp3

/// One HTTP/3 connection (RFC 9114) with extended CONNECT (RFC 9220), over nghttp3: stream bytes go in, stream bytes and events
/// come out.
///
/// No sockets, no clock, no thread. The owner opens three unidirectional streams and names them with `bind`; gives what each stream
/// brings to `receive`; takes the events; and passes on what `write` gives. Datagrams do not pass here: HTTP/3 only agrees on
/// them, and `HTTPDatagram` is all there is to their form.
///
/// Bounds: a head has at most `Limits.headFields` fields and `Limits.headBytes`; unsent content of a stream at most
/// `Limits.unsentBytes`; QPACK's dynamic tables are off in both directions, so that nothing of a peer is kept for later heads
/// and no stream ever waits for another. How many streams there are is QUIC's limit.
///
/// A class, because nghttp3's callbacks find it by pointer.
package final class HTTP3Core {
    package enum Role: Sendable { case client, server }

    package struct Limits: Sendable {
        /// A request of ours has a dozen.
        package var headFields = 64
        /// As counted by RFC 9114 §4.2.2: what HTTP/1.1 requests may have here, too.
        package var headBytes = 16 << 10
        /// Content that waits for the stream; who writes more is told that there is no room.
        package var unsentBytes = 64 << 10
        /// Requests at a time; QUIC enforces it.
        package var requests: UInt64 = 16

        package init() {}
    }

    package let role: Role
    let limits: Limits
    var connection: OpaquePointer?
    var events: [HTTP3Event] = []
    var streams: [Int64: HTTP3Stream] = [:]
    /// Once the library has refused something, nothing of it may be called (nghttp3.h, `nghttp3_conn_read_stream`).
    var failure: HTTP3Failure?

    package init(_ role: Role, _ limits: Limits = Limits()) throws(HTTP3Failure) {
        self.role = role
        self.limits = limits
        var settings = nghttp3_settings()
        nghttp3_settings_default_versioned(NGHTTP3_SETTINGS_VERSION, &settings)
        settings.max_field_section_size = UInt64(limits.headBytes)
        settings.qpack_max_dtable_capacity = 0
        settings.qpack_encoder_max_dtable_capacity = 0
        settings.qpack_blocked_streams = 0
        settings.enable_connect_protocol = role == .server ? 1 : 0
        settings.h3_datagram = 1
        let owner = Unmanaged.passUnretained(self).toOpaque()
        var callbacks = HTTP3Callbacks.table
        let status =
            switch role {
            case .client:
                nghttp3_conn_client_new_versioned(
                    &connection, NGHTTP3_CALLBACKS_VERSION, &callbacks, NGHTTP3_SETTINGS_VERSION, &settings, nil, owner)
            case .server:
                nghttp3_conn_server_new_versioned(
                    &connection, NGHTTP3_CALLBACKS_VERSION, &callbacks, NGHTTP3_SETTINGS_VERSION, &settings, nil, owner)
            }
        try check(status)
        if role == .server { nghttp3_conn_set_max_client_streams_bidi(connection, limits.requests) }
    }

    deinit {
        nghttp3_conn_del(connection)
    }

    /// Names our unidirectional streams: control, QPACK encoder, QPACK decoder. Once, before anything is written.
    package func bind(control: Int64, encoder: Int64, decoder: Int64) throws(HTTP3Failure) {
        try requireWhole()
        try check(nghttp3_conn_bind_control_stream(connection, control))
        try check(nghttp3_conn_bind_qpack_streams(connection, encoder, decoder))
    }

    /// Everything that happened since the last call.
    package func takeEvents() -> [HTTP3Event] {
        defer { events = [] }
        return events
    }

    // MARK: - Bytes in

    /// Takes what came on a stream.
    package func receive(_ bytes: [UInt8], on stream: Int64, isLast: Bool) throws(HTTP3Failure) {
        try requireWhole()
        let count = bytes.withUnsafeBufferPointer {
            nghttp3_conn_read_stream(connection, stream, $0.baseAddress, $0.count, isLast ? 1 : 0)
        }
        if count < 0 { try check(Int32(truncatingIfNeeded: count)) }
    }

    /// The peer has given its direction of a stream up. The control and QPACK streams must stay (RFC 9114 §6.2.1).
    package func receivedReset(of stream: Int64, code: UInt64) throws(HTTP3Failure) {
        guard stream & 2 == 0 else { return try closed(stream, code: code) }
        try requireWhole()
        try check(nghttp3_conn_shutdown_stream_read(connection, stream))
        if streams[stream] != nil { events.append(.broken(stream, code: code)) }
    }

    /// QUIC has forgotten the stream: both directions are over.
    package func closed(_ stream: Int64, code: UInt64 = HTTP3Failure.noError) throws(HTTP3Failure) {
        try requireWhole()
        let status = nghttp3_conn_close_stream(connection, stream, code)
        streams[stream] = nil
        if status != NGHTTP3_ERR_STREAM_NOT_FOUND { try check(status) }
    }

    // MARK: - Messages out

    /// Client: sends a request on a bidirectional stream that was just opened.
    ///
    /// - Parameter staysOpen: content follows by `send`, until `finish`.
    package func request(_ head: HTTP3Head, on stream: Int64, staysOpen: Bool) throws(HTTP3Failure) {
        precondition(role == .client, "only clients ask")
        try requireWhole()
        let state = HTTP3Stream(isFinished: !staysOpen)
        streams[stream] = state
        let status = withFields(head) { fields in
            withReader { reader in
                nghttp3_conn_submit_request(connection, stream, fields.baseAddress, fields.count, reader, nil)
            }
        }
        try check(status)
    }

    /// Server: answers the request of `stream`; a second answer, and one to a stream that is gone, does nothing.
    package func respond(_ head: HTTP3Head, on stream: Int64, staysOpen: Bool) throws(HTTP3Failure) {
        precondition(role == .server, "only servers answer")
        try requireWhole()
        guard let state = streams[stream], !state.hasResponded else { return }
        state.hasResponded = true
        state.isFinished = state.isFinished || !staysOpen
        let status = withFields(head) { fields in
            withReader { reader in
                nghttp3_conn_submit_response(connection, stream, fields.baseAddress, fields.count, reader)
            }
        }
        try check(status)
    }

    /// Queues content; false when the stream is over or has no room: then nothing of it was taken.
    package func send(_ bytes: [UInt8], on stream: Int64) throws(HTTP3Failure) -> Bool {
        try requireWhole()
        guard let state = streams[stream], !state.isFinished,
            state.unsentBytes + bytes.count <= limits.unsentBytes
        else { return false }
        state.append(bytes)
        try check(nghttp3_conn_resume_stream(connection, stream))
        return true
    }

    /// What `send` would take on the stream now.
    package func room(on stream: Int64) -> Int {
        guard let state = streams[stream], !state.isFinished else { return 0 }
        return limits.unsentBytes - state.unsentBytes
    }

    /// Ends our direction behind what was sent. Idempotent.
    package func finish(_ stream: Int64) throws(HTTP3Failure) {
        try requireWhole()
        guard let state = streams[stream], !state.isFinished else { return }
        state.isFinished = true
        try check(nghttp3_conn_resume_stream(connection, stream))
    }

    /// Gives our direction up: the owner resets the QUIC stream.
    package func abandon(_ stream: Int64) {
        guard failure == nil else { return }
        streams[stream]?.isFinished = true
        nghttp3_conn_shutdown_stream_write(connection, stream)
    }

    // MARK: - Bytes out

    /// Bytes of one stream, in order; valid within the call.
    package struct Output {
        package let stream: Int64
        package let bytes: UnsafeRawBufferPointer
        /// The end of our direction stands behind them.
        package let isLast: Bool
    }

    package enum Taken {
        /// So many bytes, and with all of them the end, if there was one. With fewer the stream waits for `unblock`.
        case bytes(Int)
        /// The stream takes nothing any more.
        case gone
    }

    /// Gives all that is to be sent now to `take`, stream by stream.
    package func write(_ take: (Output) -> Taken) throws(HTTP3Failure) {
        try requireWhole()
        while true {
            var (stream, isLast) = (Int64(-1), Int32(0))
            var pieces = InlinePieces()
            let count = pieces.withPieces {
                nghttp3_conn_writev_stream(connection, &stream, &isLast, $0, InlinePieces.count)
            }
            if count < 0 { try check(Int32(truncatingIfNeeded: count)) }
            guard stream >= 0 else { return }
            try pass(pieces, count, of: stream, isLast: isLast != 0, take)
        }
    }

    private func pass(
        _ pieces: InlinePieces, _ count: Int, of stream: Int64, isLast: Bool, _ take: (Output) -> Taken
    ) throws(HTTP3Failure) {
        var total = 0
        for index in 0..<max(1, count) {
            let bytes = index < count ? pieces[index] : UnsafeRawBufferPointer(start: nil, count: 0)
            switch take(Output(stream: stream, bytes: bytes, isLast: isLast && index >= count - 1)) {
            case .gone:
                return nghttp3_conn_shutdown_stream_write(connection, stream)
            case .bytes(let taken):
                total += taken
                if taken < bytes.count {
                    nghttp3_conn_block_stream(connection, stream)
                    return try wrote(total, of: stream)
                }
            }
        }
        try wrote(total, of: stream)
    }

    /// What QUIC has taken it keeps itself: for the library it is as good as acknowledged.
    private func wrote(_ byteCount: Int, of stream: Int64) throws(HTTP3Failure) {
        try check(nghttp3_conn_add_write_offset(connection, stream, byteCount))
        if byteCount > 0 { try check(nghttp3_conn_add_ack_offset(connection, stream, UInt64(byteCount))) }
    }

    /// A stream that took less than it was given takes more again.
    package func unblock(_ stream: Int64) throws(HTTP3Failure) {
        try requireWhole()
        try check(nghttp3_conn_unblock_stream(connection, stream))
    }

    // MARK: - Failure

    private func requireWhole() throws(HTTP3Failure) {
        if let failure { throw failure }
    }

    private func check(_ status: Int32) throws(HTTP3Failure) {
        guard status < 0 else { return }
        let failure = HTTP3Failure(status: status)
        self.failure = failure
        throw failure
    }
}

/// Room for what the library gives at once.
private struct InlinePieces {
    static let count = 4
    private var storage: (nghttp3_vec, nghttp3_vec, nghttp3_vec, nghttp3_vec) = (.init(), .init(), .init(), .init())

    mutating func withPieces<Result>(_ body: (UnsafeMutablePointer<nghttp3_vec>?) -> Result) -> Result {
        withUnsafeMutableBytes(of: &storage) { body($0.baseAddress?.assumingMemoryBound(to: nghttp3_vec.self)) }
    }

    subscript(index: Int) -> UnsafeRawBufferPointer {
        withUnsafeBytes(of: storage) {
            let piece = $0.load(fromByteOffset: index * MemoryLayout<nghttp3_vec>.stride, as: nghttp3_vec.self)
            return UnsafeRawBufferPointer(start: piece.base, count: piece.len)
        }
    }
}
