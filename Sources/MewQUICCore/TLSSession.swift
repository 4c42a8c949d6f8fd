internal import CQuic
internal import CQuicShim
internal import MewIdentity

/// The TLS half of one connection: handshake state, who the peer proved to be, and keying material.
///
/// GnuTLS and ngtcp2 find this object through `reference`, so it is a class, and it must outlive the library's
/// connection: `ConnectionCore` deletes that first.
final class TLSSession {
    let handle: gnutls_session_t
    private let credentials: TLSCredentials
    private let reference: UnsafeMutablePointer<ngtcp2_crypto_conn_ref>

    /// The library's connection; set as soon as it exists.
    var connection: OpaquePointer?

    private let demand: PeerDemand
    /// Outlives the session, which only points to it.
    private var expectedName: UnsafeMutableBufferPointer<CChar>?

    private(set) var isReleased = false
    /// Kept when the session is released.
    private var agreedProtocol: String?

    /// What the peer showed, whether we liked it or not.
    private(set) var peerCertificate = PeerCertificate.none

    enum PeerCertificate: Equatable {
        case none
        /// Something other than one ed25519 raw public key.
        case unusable
        case key(NodeID)
    }

    /// - Parameter protocols: in order of preference; at least one (spec/iroh-wire.md §2.1).
    init(
        _ demand: PeerDemand, protocols: [String], credentials: TLSCredentials
    ) throws(TLSFailure) {
        self.demand = demand
        self.credentials = credentials
        var allocated: gnutls_session_t?
        let flags = demand.isClient ? mq_client_session_flags() : mq_server_session_flags()
        try check(gnutls_init(&allocated, flags), "allocate a session")
        guard let allocated else { throw TLSFailure(doing: "allocate a session", status: GNUTLS_E_MEMORY_ERROR) }
        handle = allocated
        reference = .allocate(capacity: 1)
        reference.initialize(to: ngtcp2_crypto_conn_ref())
        try configure(isClient: demand.isClient, protocols: protocols)
    }

    deinit {
        if !isReleased { gnutls_deinit(handle) }
        reference.deallocate()
        expectedName?.deallocate()
    }

    /// Gives back what only the handshake needed: 14 KiB, a fifth of what an idle connection costs. `handle` must not be
    /// used any more. Packets are protected without the session.
    ///
    /// Not within a callback of the library, and not before the handshake is complete.
    func release() {
        guard !isReleased else { return }
        agreedProtocol = applicationProtocol
        isReleased = true
        gnutls_deinit(handle)
    }

    private func configure(isClient: Bool, protocols: [String]) throws(TLSFailure) {
        reference.pointee.user_data = Unmanaged.passUnretained(self).toOpaque()
        reference.pointee.get_conn = { reference in
            guard let owner = reference?.pointee.user_data else { return nil }
            return Unmanaged<TLSSession>.fromOpaque(owner).takeUnretainedValue().connection
        }
        gnutls_session_set_ptr(handle, reference)
        try check(gnutls_priority_set(handle, demand.priorities.handle), "set the priorities")
        try check(
            gnutls_credentials_set(handle, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(shown)),
            "set the credentials")
        if isClient {
            try check(ngtcp2_crypto_gnutls_configure_client_session(handle), "configure a QUIC client")
        } else {
            try check(ngtcp2_crypto_gnutls_configure_server_session(handle), "configure a QUIC server")
            gnutls_certificate_server_set_request(
                handle, credentials.servesAnyone ? GNUTLS_CERT_IGNORE : GNUTLS_CERT_REQUIRE)
        }
        if case .server(.host(let host, _)) = demand { try expect(host) }
        try setProtocols(protocols, flags: isClient ? mq_client_alpn_flags() : mq_server_alpn_flags())
    }

    /// With what we show of ourselves come the authorities that we believe.
    private var shown: OpaquePointer {
        if case .server(.host(_, let store)) = demand { store.handle } else { credentials.handle }
    }

    /// The certificate must be for `host`.
    private func expect(_ host: String) throws(TLSFailure) {
        // RFC 6066 §3: "Literal IPv4 and IPv6 addresses are not permitted in 'HostName'."
        if !host.contains(":"), host.contains(where: { $0.isLetter }) {
            try check(gnutls_server_name_set(handle, GNUTLS_NAME_DNS, host, host.utf8.count), "name the server")
        }
        // The library keeps the pointer until it looks at the certificate.
        let bytes = host.utf8CString
        let name = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
        _ = name.initialize(from: bytes)
        expectedName = name
        gnutls_session_set_verify_cert(handle, name.baseAddress, 0)
    }

    private func setProtocols(_ protocols: [String], flags: UInt32) throws(TLSFailure) {
        precondition(!protocols.isEmpty, "an application protocol is mandatory")
        var bytes = protocols.flatMap { $0.utf8 }
        let status = bytes.withUnsafeMutableBufferPointer { bytes in
            var offset = 0
            let names = protocols.map { name in
                defer { offset += name.utf8.count }
                return gnutls_datum_t(data: bytes.baseAddress.map { $0 + offset }, size: UInt32(name.utf8.count))
            }
            return gnutls_alpn_set_protocols(handle, names, UInt32(names.count), flags)
        }
        try check(status, "set the application protocols")
    }

    static func owner(of session: gnutls_session_t?) -> TLSSession? {
        guard let pointer = gnutls_session_get_ptr(session) else { return nil }
        let reference = pointer.assumingMemoryBound(to: ngtcp2_crypto_conn_ref.self)
        guard let owner = reference.pointee.user_data else { return nil }
        return Unmanaged<TLSSession>.fromOpaque(owner).takeUnretainedValue()
    }

    /// Runs inside the handshake; anything but zero ends it with the alert `bad_certificate`.
    func verifyPeer() -> Int32 {
        switch demand {
        case .node(let node), .server(.key(let node)): verifyKey(node)
        case .anyNode: verifyKey(nil)
        // Nobody asked for it.
        case .anyone, .server(.nothing): 0
        // The library does it by itself (`expect`).
        case .server(.host): GNUTLS_E_CERTIFICATE_ERROR
        }
    }

    private func verifyKey(_ expected: NodeID?) -> Int32 {
        var count: UInt32 = 0
        // "Extra entries cause rejection" (spec/iroh-wire.md §2.1): a raw public key is one entry.
        guard let entry = gnutls_certificate_get_peers(handle, &count), count == 1,
            let node = NodeID(spki: UnsafeRawBufferPointer(start: entry[0].data, count: Int(entry[0].size)))
        else {
            peerCertificate = .unusable
            return GNUTLS_E_CERTIFICATE_ERROR
        }
        peerCertificate = .key(node)
        guard let expected else { return 0 }
        return node == expected ? 0 : GNUTLS_E_CERTIFICATE_ERROR
    }

    /// The key that was shown though another was dialled.
    var wrongKey: NodeID? {
        guard case .key(let shown) = peerCertificate else { return nil }
        switch demand {
        case .node(let node), .server(.key(let node)): return shown == node ? nil : shown
        case .server, .anyNode, .anyone: return nil
        }
    }

    /// The peer has shown what we want of it.
    var hasMetDemand: Bool {
        switch demand {
        case .node, .anyNode, .server(.key): if case .key = peerCertificate { true } else { false }
        case .server(.host), .server(.nothing), .anyone: true
        }
    }

    /// The protocol both sides agreed on; nil before the handshake got there.
    var applicationProtocol: String? {
        if isReleased { return agreedProtocol }
        var name = gnutls_datum_t()
        guard gnutls_alpn_get_selected_protocol(handle, &name) == 0, name.size > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: name.data, count: Int(name.size)), as: UTF8.self)
    }

    /// Keying material (RFC 8446 §7.5) with an empty context; nil before the handshake is complete and after `release`.
    func export(label: String, byteCount: Int) -> [UInt8]? {
        guard !isReleased else { return nil }
        var material = [UInt8](repeating: 0, count: byteCount)
        let label = label.utf8CString
        let status = label.withUnsafeBufferPointer { text in
            material.withUnsafeMutableBytes { target in
                gnutls_prf_rfc5705(
                    handle, label.count - 1, text.baseAddress, 0, nil, target.count,
                    target.baseAddress?.assumingMemoryBound(to: CChar.self))
            }
        }
        return status == 0 ? material : nil
    }
}
