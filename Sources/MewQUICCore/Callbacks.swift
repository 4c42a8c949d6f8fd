internal import CQuic
internal import CQuicShim
internal import MewBase

/// The functions ngtcp2 calls. They only find the connection object and route; nothing here decides anything.
enum Callbacks {
    static let table: ngtcp2_callbacks = {
        var table = ngtcp2_callbacks()
        installCrypto(in: &table)
        installHandshake(in: &table)
        installIdentifiers(in: &table)
        installStreams(in: &table)
        installDatagrams(in: &table)
        return table
    }()

    private static func installCrypto(in table: inout ngtcp2_callbacks) {
        table.client_initial = ngtcp2_crypto_client_initial_cb
        table.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb
        table.recv_crypto_data = { connection, level, offset, data, count, owner in
            core(owner).tls.isReleased
                ? core(owner).refuseTLSMessage()
                : ngtcp2_crypto_recv_crypto_data_cb(connection, level, offset, data, count, owner)
        }
        table.recv_retry = ngtcp2_crypto_recv_retry_cb
        table.encrypt = ngtcp2_crypto_encrypt_cb
        table.hp_mask = ngtcp2_crypto_hp_mask_cb
        table.update_key = ngtcp2_crypto_update_key_cb
        table.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb
        table.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb
        table.version_negotiation = ngtcp2_crypto_version_negotiation_cb
        mq_count_decrypted(&table)
    }

    private static func installHandshake(in table: inout ngtcp2_callbacks) {
        table.handshake_completed = { _, owner in core(owner).handshakeCompleted() }
        table.handshake_confirmed = { _, owner in
            core(owner).handshakeConfirmed()
            return 0
        }
        table.recv_tx_key = { _, level, owner in
            level == NGTCP2_ENCRYPTION_LEVEL_1RTT ? core(owner).requireTransportParameters() : 0
        }
        table.recv_stateless_reset = { _, _, owner in
            core(owner).receivedReset()
            return 0
        }
        table.path_validation = { _, _, path, _, result, owner in
            guard let path else { return 0 }
            core(owner).pathValidated(
                CorePath(path.pointee), succeeded: result == NGTCP2_PATH_VALIDATION_RESULT_SUCCESS)
            return 0
        }
    }

    private static func installIdentifiers(in table: inout ngtcp2_callbacks) {
        table.rand = { target, count, context in
            guard let owner = context?.pointee.native_handle else { return }
            core(owner).entropy.fill(UnsafeMutableRawBufferPointer(start: target, count: count))
        }
        table.get_path_challenge_data = { _, target, owner in
            core(owner).entropy.fill(
                UnsafeMutableRawBufferPointer(start: target, count: Int(NGTCP2_PATH_CHALLENGE_DATALEN)))
            return 0
        }
        table.get_new_connection_id = { _, cid, token, _, owner in
            guard let cid, let token else { return NGTCP2_ERR_CALLBACK_FAILURE }
            core(owner).issueConnectionID(cid, token)
            return 0
        }
        table.remove_connection_id = { _, cid, owner in
            if let cid, let id = LocalConnectionID(cid.pointee) { core(owner).events.append(.retired(id)) }
            return 0
        }
        table.dcid_status = { _, type, _, cid, token, owner in
            guard let cid else { return 0 }
            core(owner).peerIDUsed(
                cid.pointee, token: token, isActive: type == NGTCP2_CONNECTION_ID_STATUS_TYPE_ACTIVATE)
            return 0
        }
    }

    private static func installStreams(in table: inout ngtcp2_callbacks) {
        table.stream_open = { _, id, owner in
            core(owner).peerOpened(id)
            return 0
        }
        table.recv_stream_data = { _, flags, id, _, data, count, owner, stream in
            let bytes = UnsafeRawBufferPointer(start: data, count: count)
            let isLast = flags & NGTCP2_STREAM_DATA_FLAG_FIN != 0
            with(owner, stream) { core, stream in core.receivedStreamData(on: stream, bytes, isLast: isLast) }
            return 0
        }
        table.acked_stream_data_offset = { _, id, offset, count, owner, stream in
            with(owner, stream) { core, stream in core.acknowledged(stream, through: offset + count) }
            return 0
        }
        table.stream_close = { _, flags, id, code, owner, stream in
            core(owner).streamClosed(StreamCore.from(stream) ?? core(owner).streams[id], id: id)
            return 0
        }
        table.stream_reset = { _, id, _, code, owner, stream in
            core(owner).peerReset(StreamCore.from(stream) ?? core(owner).streams[id], code: code)
            return 0
        }
        table.extend_max_stream_data = { _, id, _, owner, stream in
            core(owner).windowGrew(StreamCore.from(stream) ?? core(owner).streams[id])
            return 0
        }
        table.extend_max_local_streams_bidi = { _, _, owner in
            core(owner).events.append(.streamsAllowed)
            return 0
        }
        table.extend_max_local_streams_uni = { _, _, owner in
            core(owner).events.append(.streamsAllowed)
            return 0
        }
    }

    private static func installDatagrams(in table: inout ngtcp2_callbacks) {
        table.ack_datagram = { _, number, owner in
            core(owner).datagrams.settled(number, wasLost: false)
            return 0
        }
        table.lost_datagram = { _, number, owner in
            core(owner).datagrams.settled(number, wasLost: true)
            return 0
        }
        table.recv_datagram = { _, _, data, count, owner in
            core(owner).receivedDatagram(UnsafeRawBufferPointer(start: data, count: count))
            return 0
        }
    }
}

/// The connection that ngtcp2 is calling for. Outside the enumeration: a C function pointer captures nothing, not even it.
private func core(_ pointer: UnsafeMutableRawPointer?) -> ConnectionCore {
    guard let pointer else { preconditionFailure("every connection is created with its owner's address") }
    return Unmanaged<ConnectionCore>.fromOpaque(pointer).takeUnretainedValue()
}

/// The same for calls about a stream that we know: for those that come with every packet, without counting references.
/// Their owners outlive the call: the connection holds its streams, and its owner holds the connection.
private func with(
    _ owner: UnsafeMutableRawPointer?, _ stream: UnsafeMutableRawPointer?, _ body: (ConnectionCore, StreamCore) -> Void
) {
    guard let owner, let stream else { return }
    Unmanaged<ConnectionCore>.fromOpaque(owner)._withUnsafeGuaranteedRef { core in
        Unmanaged<StreamCore>.fromOpaque(stream)._withUnsafeGuaranteedRef { stream in body(core, stream) }
    }
}

extension StreamCore {
    static func from(_ pointer: UnsafeMutableRawPointer?) -> StreamCore? {
        pointer.map { Unmanaged<StreamCore>.fromOpaque($0).takeUnretainedValue() }
    }

    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}
