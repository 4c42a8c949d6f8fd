internal import CNghttp3

/// The functions nghttp3 calls. They only find the connection object and route.
enum HTTP3Callbacks {
    static var table: nghttp3_callbacks {
        var table = nghttp3_callbacks()
        table.acked_stream_data = { _, stream, count, owner, _ in
            core(owner).streams[stream]?.returned(Int(clamping: count))
            return 0
        }
        table.recv_data = { _, stream, bytes, count, owner, _ in
            let bytes = UnsafeBufferPointer(start: bytes, count: count)
            if !bytes.isEmpty { core(owner).events.append(.data(stream, Array(bytes))) }
            return 0
        }
        table.begin_headers = { _, stream, owner, _ in
            core(owner).beganHead(of: stream)
            return 0
        }
        table.recv_header = { _, stream, _, name, value, _, owner, _ in
            core(owner).receivedField(of: stream, text(name), text(value))
            return 0
        }
        table.end_headers = { _, stream, _, owner, _ in
            core(owner).endedHead(of: stream)
            return 0
        }
        table.end_stream = { _, stream, owner, _ in
            core(owner).events.append(.ended(stream))
            return 0
        }
        table.stop_sending = { _, stream, code, owner, _ in
            core(owner).events.append(.broken(stream, code: code))
            return 0
        }
        table.reset_stream = { _, stream, code, owner, _ in
            core(owner).events.append(.broken(stream, code: code))
            return 0
        }
        table.shutdown = { _, _, owner in
            core(owner).events.append(.goingAway)
            return 0
        }
        table.recv_settings = { _, settings, owner in
            core(owner).events.append(.settings(takesDatagrams: settings?.pointee.h3_datagram == 1))
            return 0
        }
        return table
    }

    /// Content of a message of ours.
    static let read: nghttp3_read_data_callback = { _, stream, pieces, _, flags, owner, _ in
        guard let state = core(owner).streams[stream], let pieces, let flags else {
            return nghttp3_ssize(NGHTTP3_ERR_CALLBACK_FAILURE)
        }
        guard let memory = state.lend() else {
            guard state.isFinished, !state.hasWaiting else { return nghttp3_ssize(NGHTTP3_ERR_WOULDBLOCK) }
            flags.pointee |= UInt32(NGHTTP3_DATA_FLAG_EOF)
            return 0
        }
        pieces.pointee = nghttp3_vec(base: memory.baseAddress?.assumingMemoryBound(to: UInt8.self), len: memory.count)
        if state.isFinished { flags.pointee |= UInt32(NGHTTP3_DATA_FLAG_EOF) }
        return 1
    }
}

/// Outside the enumeration: a C function pointer captures nothing, not even it.
private func core(_ pointer: UnsafeMutableRawPointer?) -> HTTP3Core {
    guard let pointer else { preconditionFailure("every connection is created with its owner's address") }
    return Unmanaged<HTTP3Core>.fromOpaque(pointer).takeUnretainedValue()
}

private func text(_ buffer: OpaquePointer?) -> String {
    let bytes = nghttp3_rcbuf_get_buf(buffer)
    return String(decoding: UnsafeBufferPointer(start: bytes.base, count: bytes.len), as: UTF8.self)
}

extension HTTP3Core {
    func beganHead(of stream: Int64) {
        let state = streams[stream] ?? HTTP3Stream()
        state.head = HTTP3Head()
        streams[stream] = state
    }

    func receivedField(of stream: Int64, _ name: String, _ value: String) {
        guard let state = streams[stream], !state.isHeadTooLarge else { return }
        guard state.head.fields.count < limits.headFields,
            state.head.byteCount + name.utf8.count + value.utf8.count + 32 <= limits.headBytes
        else {
            state.isHeadTooLarge = true
            state.head = HTTP3Head()
            return
        }
        state.head.append(name, value)
    }

    func endedHead(of stream: Int64) {
        guard let state = streams[stream] else { return }
        events.append(state.isHeadTooLarge ? .headTooLarge(stream) : .head(stream, state.head))
        state.head = HTTP3Head()
    }

    /// Lends the fields as the library wants them; it copies them.
    func withFields(_ head: HTTP3Head, _ body: (UnsafeBufferPointer<nghttp3_nv>) -> Int32) -> Int32 {
        var text: [UInt8] = []
        for field in head.fields { text += Array(field.name.utf8) + Array(field.value.utf8) }
        return text.withUnsafeBufferPointer { text in
            var start = 0
            let fields = head.fields.map { field in
                let (name, value) = (field.name.utf8.count, field.value.utf8.count)
                defer { start += name + value }
                let base = text.baseAddress.map { $0 + start }
                return nghttp3_nv(
                    name: base, value: base.map { $0 + name }, namelen: name, valuelen: value,
                    flags: UInt8(NGHTTP3_NV_FLAG_NEVER_INDEX))
            }
            return fields.withUnsafeBufferPointer(body)
        }
    }

    func withReader(_ body: (UnsafePointer<nghttp3_data_reader>) -> Int32) -> Int32 {
        var reader = nghttp3_data_reader(read_data: HTTP3Callbacks.read)
        return withUnsafePointer(to: &reader, body)
    }
}
