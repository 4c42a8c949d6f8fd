internal import CQuic
package import MewQUICCore

/// What a server shows of itself: a certificate chain and its private key.
///
/// `@unchecked Sendable`: the library only reads credentials after they were set up, and its manual allows that from any thread.
package final class TLSIdentity: @unchecked Sendable {
    let handle: gnutls_certificate_credentials_t

    /// Both files are PEM; the certificate file holds the chain, leaf first. Blocks for as long as reading takes.
    package init(certificateFile: String, keyFile: String) throws(TLSFailure) {
        let (certificate, key) = (try PEMFile(certificateFile), try PEMFile(keyFile))
        try certificate.mustHoldCertificate()
        try key.mustHoldKey()
        let handle = try allocateCredentials()
        self.handle = handle
        let status = certificate.withDatum { certificate in
            key.withDatum { gnutls_certificate_set_x509_key_mem(handle, certificate, $0, GNUTLS_X509_FMT_PEM) }
        }
        guard status >= 0 else { throw Self.failure(status, certificate, key) }
    }

    deinit {
        gnutls_certificate_free_credentials(handle)
    }

    /// For QUIC.
    package var store: CertificateStore { CertificateStore(handle, of: self) }

    private static func failure(_ status: Int32, _ certificate: PEMFile, _ key: PEMFile) -> TLSFailure {
        guard status != GNUTLS_E_CERTIFICATE_KEY_MISMATCH else {
            return .identity(
                "the key in \(key.path) does not belong to the certificate in \(certificate.path)",
                hint: "The first certificate of the file must be the relay's own, and the key the one it was made for.")
        }
        let damaged =
            certificate.holdsWholeCertificates ? "the key in \(key.path)" : "a certificate in \(certificate.path)"
        return .identity("\(damaged) is damaged", hint: "Write the file again.")
    }
}

/// Whom a client believes: the system's certificate authorities, or those of one file.
///
/// `@unchecked Sendable`: as `TLSIdentity`.
package final class TLSTrust: @unchecked Sendable {
    let handle: gnutls_certificate_credentials_t
    /// What it was made of, PEM; empty for the system's store.
    package let authorities: [UInt8]

    /// The system's store. Reading it takes some ten milliseconds: make one and keep it.
    package init() throws(TLSFailure) {
        authorities = []
        handle = try allocateCredentials()
        try TLSFailure.check(gnutls_certificate_set_x509_system_trust(handle), "read the system's trust store")
    }

    /// - Parameter authoritiesFile: PEM certificates.
    package convenience init(authoritiesFile: String) throws(TLSFailure) {
        try self.init(PEMFile(authoritiesFile))
    }

    /// - Parameters:
    ///   - authorities: PEM certificates.
    ///   - name: what they are called when something is wrong with them.
    package convenience init(authorities: [UInt8], called name: String) throws(TLSFailure) {
        try self.init(PEMFile(authorities, called: name))
    }

    private init(_ file: PEMFile) throws(TLSFailure) {
        try file.mustHoldCertificate()
        let handle = try allocateCredentials()
        (self.handle, authorities) = (handle, file.bytes)
        let count = file.withDatum { gnutls_certificate_set_x509_trust_mem(handle, $0, GNUTLS_X509_FMT_PEM) }
        guard count > 0 else {
            throw .identity("a certificate in \(file.path) is damaged", hint: "Write the file again.")
        }
    }

    /// For QUIC.
    package var store: CertificateStore { CertificateStore(handle, of: self) }

    deinit {
        gnutls_certificate_free_credentials(handle)
    }
}

private func allocateCredentials() throws(TLSFailure) -> gnutls_certificate_credentials_t {
    var allocated: gnutls_certificate_credentials_t?
    try TLSFailure.check(gnutls_certificate_allocate_credentials(&allocated), "allocate credentials")
    guard let allocated else { throw .library("no memory for credentials") }
    return allocated
}

/// What is negotiated, parsed once per process. AES-128-GCM first: the library's fastest by far (spec/swift-notes.md §5.1).
///
/// `@unchecked Sendable`: a priority cache is never changed after it was made.
struct TLSPriorities: @unchecked Sendable {
    let handle: gnutls_priority_t?

    private static let text =
        "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305"

    static let shared: TLSPriorities = {
        var handle: gnutls_priority_t?
        let status = gnutls_priority_init(&handle, text, nil)
        return TLSPriorities(handle: status == 0 ? handle : nil)
    }()
}
