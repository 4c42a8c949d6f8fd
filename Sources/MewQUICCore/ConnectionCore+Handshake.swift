internal import CQuic
internal import CQuicShim
internal import MewBase
internal import MewIdentity

// Creating the library's connection, its settings and transport parameters, and the end of the handshake.

extension ConnectionCore {
    /// A dialler's first destination ID has 18 bytes, so that listeners can tell our diallers from iroh's, which use 20
    /// (DESIGN §6).
    static let initialDestinationBytes = 18

    func createClient(now: Instant, callbacks: ngtcp2_callbacks) throws {
        let source = LocalConnectionID(random: entropy)
        var destinationID = ForeignConnectionID(random: entropy, byteCount: Self.initialDestinationBytes).cid
        var sourceID = source.cid
        var parameters = makeParameters()
        incomingPath.set(path)
        var created: OpaquePointer?
        let status = withSettings(now: now) { settings in
            withUnsafePointer(to: callbacks) { callbacks in
                ngtcp2_conn_client_new_versioned(
                    &created, &destinationID, &sourceID, incomingPath.pointer, UInt32(NGTCP2_PROTO_VER_V1),
                    NGTCP2_CALLBACKS_VERSION, callbacks, NGTCP2_SETTINGS_VERSION, &settings,
                    NGTCP2_TRANSPORT_PARAMS_VERSION, &parameters, nil, userData)
            }
        }
        try adopt(created, status: status, source: source)
    }

    func createServer(_ initial: InitialPacket, now: Instant) throws {
        let source = LocalConnectionID(random: entropy)
        var clientID = initial.source.cid
        var sourceID = source.cid
        var parameters = makeServerParameters(initial, source: source)
        incomingPath.set(path)
        var created: OpaquePointer?
        let status = withSettings(now: now) { settings in
            initial.token.withUnsafeBufferPointer { token in
                if initial.originalDestination != nil {
                    settings.token = token.baseAddress
                    settings.tokenlen = token.count
                    settings.token_type = NGTCP2_TOKEN_TYPE_RETRY
                }
                return withUnsafePointer(to: Callbacks.table) { callbacks in
                    ngtcp2_conn_server_new_versioned(
                        &created, &clientID, &sourceID, incomingPath.pointer, initial.version,
                        NGTCP2_CALLBACKS_VERSION, callbacks, NGTCP2_SETTINGS_VERSION, &settings,
                        NGTCP2_TRANSPORT_PARAMS_VERSION, &parameters, nil, userData)
                }
            }
        }
        try adopt(created, status: status, source: source)
    }

    private func makeServerParameters(_ initial: InitialPacket, source: LocalConnectionID) -> ngtcp2_transport_params {
        var parameters = makeParameters()
        parameters.original_dcid = (initial.originalDestination ?? initial.destination).cid
        parameters.original_dcid_present = 1
        if initial.originalDestination != nil {
            parameters.retry_scid = initial.destination.cid
            parameters.retry_scid_present = 1
        }
        parameters.stateless_reset_token_present = 1
        withUnsafeMutableBytes(of: &parameters.stateless_reset_token) { token in
            if let start = token.baseAddress?.assumingMemoryBound(to: UInt8.self) {
                resetKey.token(for: source).copy(to: start)
            }
        }
        return parameters
    }

    private func adopt(_ created: OpaquePointer?, status: Int32, source: LocalConnectionID) throws {
        guard status == 0, let created else {
            throw QUICError.refused("new connection: \(String(cString: ngtcp2_strerror(status)))")
        }
        connection = created
        tls.connection = created
        ngtcp2_conn_set_tls_native_handle(created, UnsafeMutableRawPointer(tls.handle))
        ngtcp2_conn_set_keep_alive_timeout(created, configuration.keepAlive.libraryDuration)
        events.append(.issued(source))
    }

    var userData: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private func makeSettings(now: Instant) -> ngtcp2_settings {
        var settings = ngtcp2_settings()
        ngtcp2_settings_default_versioned(NGTCP2_SETTINGS_VERSION, &settings)
        settings.initial_ts = timestamp(now)
        settings.cc_algo =
            switch configuration.congestionControl {
            case .cubic: NGTCP2_CC_ALGO_CUBIC
            case .bbr: NGTCP2_CC_ALGO_BBR
            }
        settings.handshake_timeout = configuration.handshakeTimeout.libraryDuration
        settings.max_tx_udp_payload_size = configuration.maxUDPPayload
        settings.max_window = role == .server ? configuration.maxAcceptedWindow : configuration.maxConnectionWindow
        settings.max_stream_window = configuration.maxStreamWindow
        settings.rand_ctx.native_handle = userData
        return settings
    }

    /// Lends the settings with the sizes that path MTU discovery tries; the library copies them.
    private func withSettings<Result>(now: Instant, _ body: (inout ngtcp2_settings) -> Result) -> Result {
        var settings = makeSettings(now: now)
        return configuration.probedPayloads.withUnsafeBufferPointer { probes in
            settings.pmtud_probes = probes.baseAddress
            settings.pmtud_probeslen = probes.count
            return body(&settings)
        }
    }

    private func makeParameters() -> ngtcp2_transport_params {
        var parameters = ngtcp2_transport_params()
        ngtcp2_transport_params_default_versioned(NGTCP2_TRANSPORT_PARAMS_VERSION, &parameters)
        parameters.initial_max_stream_data_bidi_local = configuration.streamWindow
        parameters.initial_max_stream_data_bidi_remote = configuration.streamWindow
        parameters.initial_max_stream_data_uni = configuration.streamWindow
        parameters.initial_max_data = isAuthorized ? configuration.connectionWindow : configuration.unauthorizedWindow
        parameters.initial_max_streams_bidi =
            isAuthorized ? configuration.bidirectionalStreams : configuration.unauthorizedStreams
        parameters.initial_max_streams_uni =
            isAuthorized ? configuration.unidirectionalStreams : configuration.unauthorizedUnidirectionalStreams
        parameters.max_idle_timeout = configuration.idleTimeout.libraryDuration
        parameters.max_datagram_frame_size = configuration.maxDatagramFrame
        parameters.active_connection_id_limit = configuration.activeConnectionIDs
        return parameters
    }

    /// The peer may open all its streams and send its whole window from now on. Listening side; idempotent.
    ///
    /// Keying material is exported before this or never: what TLS holds in memory is given back here.
    package func authorize() {
        guard !isAuthorized, closure == nil else { return }
        isAuthorized = true
        releaseTLS()
        let configuration = configuration
        ngtcp2_conn_extend_max_offset(
            connection,
            streams.uncreditedBytes
                + saturatingDifference(configuration.connectionWindow, configuration.unauthorizedWindow))
        streams.uncreditedBytes = 0
        let bidirectional = saturatingDifference(
            configuration.bidirectionalStreams, configuration.unauthorizedStreams)
        ngtcp2_conn_extend_max_streams_bidi(connection, Int(bidirectional + streams.uncreditedBidirectional))
        let unidirectional = saturatingDifference(
            configuration.unidirectionalStreams, configuration.unauthorizedUnidirectionalStreams)
        ngtcp2_conn_extend_max_streams_uni(connection, Int(unidirectional + streams.uncreditedUnidirectional))
        streams.uncreditedBidirectional = 0
        streams.uncreditedUnidirectional = 0
    }

    private func releaseTLS() {
        guard isEstablished else { return }
        ngtcp2_conn_set_tls_native_handle(connection, nil)
        tls.release()
    }

    /// A TLS message after the handshake. A client that knows its place sends none: there is no ticket to give, no key
    /// to update (RFC 9001 §6), and we ask for no certificate again.
    func refuseTLSMessage() -> Int32 {
        ngtcp2_conn_set_tls_alert(connection, UInt8(truncatingIfNeeded: Self.unexpectedMessage))
        return NGTCP2_ERR_CRYPTO
    }

    /// RFC 8446 §6.
    private static let unexpectedMessage = 10

    private func saturatingDifference(_ left: UInt64, _ right: UInt64) -> UInt64 {
        left > right ? left - right : 0
    }

    /// Ends a handshake whose TLS messages carry no QUIC transport parameters, before the first 1-RTT packet is written.
    ///
    /// A server of ngtcp2 1.11 with GnuTLS does not look: it would go on and end the process with a failed assertion, so
    /// that one packet of a stranger could stop the daemon.
    ///
    /// "endpoints that receive ClientHello or EncryptedExtensions messages without the quic_transport_parameters
    /// extension MUST close the connection with an error of type 0x016d" (RFC 9001 §8.2).
    func requireTransportParameters() -> Int32 {
        lacksTransportParameters = ngtcp2_conn_get_remote_transport_params(connection) == nil
        return lacksTransportParameters ? NGTCP2_ERR_CALLBACK_FAILURE : 0
    }

    func handshakeCompleted() -> Int32 {
        guard tls.hasMetDemand, tls.applicationProtocol != nil else { return NGTCP2_ERR_CALLBACK_FAILURE }
        isEstablished = true
        // "the TLS handshake is considered confirmed at the server when the handshake completes" (RFC 9001 §4.1.2): the library
        // tells a client only.
        isConfirmed = role == .server
        events.append(.established)
        return 0
    }

    func handshakeConfirmed() {
        isConfirmed = true
        events.append(.confirmed)
    }
}

extension Duration {
    /// Nanoseconds as ngtcp2 counts them.
    var libraryDuration: ngtcp2_duration { UInt64(max(0, saturatingNanoseconds)) }
}
