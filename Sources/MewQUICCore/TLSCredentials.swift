internal import CQuic
internal import CQuicShim
package import MewIdentity

/// The TLS identity of one node: its ed25519 key as a raw public key (RFC 7250), shared by all its connections.
///
/// TLS 1.3 only, ed25519 only, both sides authenticate (spec/iroh-wire.md §2.1). Touched by one thread at a time.
package final class TLSCredentials {
    let handle: gnutls_certificate_credentials_t

    /// The node whose key this is.
    package let node: NodeID

    /// Of a server that does not ask who its clients are.
    let servesAnyone: Bool

    package convenience init(_ secret: SecretKey) throws(TLSFailure) {
        try self.init(secret, servesAnyone: false)
    }

    /// For a server whose clients show nothing (`EndpointAuthentication.anonymousClients`).
    package convenience init(serving secret: SecretKey, certificate: CertificateStore?) throws(TLSFailure) {
        try self.init(secret, servesAnyone: true)
        if let certificate {
            try GeneratedCertificate.copy(from: certificate.handle, to: handle)
        } else {
            try GeneratedCertificate.make(for: handle)
        }
    }

    package convenience init(
        _ secret: SecretKey, _ authentication: EndpointAuthentication
    ) throws(TLSFailure) {
        switch authentication {
        case .nodeKeys: try self.init(secret)
        case .anonymousClients(let certificate): try self.init(serving: secret, certificate: certificate)
        }
    }

    private init(_ secret: SecretKey, servesAnyone: Bool) throws(TLSFailure) {
        node = secret.node
        self.servesAnyone = servesAnyone
        var allocated: gnutls_certificate_credentials_t?
        try check(gnutls_certificate_allocate_credentials(&allocated), "allocate credentials")
        guard let allocated else { throw TLSFailure(doing: "allocate credentials", status: GNUTLS_E_MEMORY_ERROR) }
        handle = allocated
        try Self.load(secret, into: allocated)
        gnutls_certificate_set_verify_function(allocated) { session in
            TLSSession.owner(of: session)?.verifyPeer() ?? GNUTLS_E_CERTIFICATE_ERROR
        }
    }

    deinit {
        gnutls_certificate_free_credentials(handle)
    }

    private static func load(
        _ secret: SecretKey, into credentials: gnutls_certificate_credentials_t
    ) throws(TLSFailure) {
        var publicKey = secret.node.spki
        var privateKey = secret.pkcs8
        defer { wipe(&privateKey) }
        let status = publicKey.withUnsafeMutableBufferPointer { publicKey in
            privateKey.withUnsafeMutableBufferPointer { privateKey in
                var spki = gnutls_datum_t(data: publicKey.baseAddress, size: UInt32(publicKey.count))
                var pkcs8 = gnutls_datum_t(data: privateKey.baseAddress, size: UInt32(privateKey.count))
                return gnutls_certificate_set_rawpk_key_mem(
                    credentials, &spki, &pkcs8, GNUTLS_X509_FMT_DER, nil, UInt32(GNUTLS_KEY_DIGITAL_SIGNATURE), nil, 0,
                    0)
            }
        }
        try check(status, "load the node key")
    }

    private static func wipe(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { gnutls_memset($0.baseAddress, 0, $0.count) }
    }
}

/// GnuTLS refused a step of setting up an identity or a session: broken library or no memory, never the peer's doing.
package struct TLSFailure: Error, CustomStringConvertible {
    package let doing: String
    let status: Int32

    package var description: String { "TLS library: cannot \(doing): \(String(cString: gnutls_strerror(status)))" }
}

func check(_ status: Int32, _ doing: String) throws(TLSFailure) {
    if status < 0 { throw TLSFailure(doing: doing, status: status) }
}

/// What we are willing to negotiate, parsed once per process.
///
/// AES-128-GCM first: it is the fastest cipher of this library by far where AES instructions exist
/// (spec/swift-notes.md §5.1). A server follows the client's order.
///
/// `@unchecked Sendable`: a priority cache is never changed after `gnutls_priority_init`.
struct TLSPriorities: @unchecked Sendable {
    let handle: gnutls_priority_t?

    private static let ciphers =
        "NONE:+VERS-TLS1.3:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:+AEAD:+SHA256:+SHA384:"
        + "+GROUP-X25519:+GROUP-SECP256R1:%DISABLE_TLS13_COMPAT_MODE:"

    /// Between nodes.
    static let shared = TLSPriorities("+SIGN-EDDSA-ED25519:+CTYPE-CLI-RAWPK:+CTYPE-SRV-RAWPK")
    /// A server whose raw public key is known.
    static let rawKeyServer = TLSPriorities("+SIGN-EDDSA-ED25519:+CTYPE-CLI-X509:+CTYPE-SRV-RAWPK")
    static let certifiedServer = TLSPriorities("+SIGN-ALL:+CTYPE-CLI-X509:+CTYPE-SRV-X509")
    /// The client chooses what it is shown.
    static let anonymousClients = TLSPriorities(
        "+SIGN-ALL:+CTYPE-CLI-X509:+CTYPE-CLI-RAWPK:+CTYPE-SRV-X509:+CTYPE-SRV-RAWPK")

    private init(_ rest: String) {
        var handle: gnutls_priority_t?
        let status = gnutls_priority_init(&handle, Self.ciphers + rest, nil)
        self.handle = status == 0 ? handle : nil
    }
}
