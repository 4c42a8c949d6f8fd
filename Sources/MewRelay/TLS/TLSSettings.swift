internal import CQuic

/// What a server shows of itself: a certificate chain and its private key.
///
/// `@unchecked Sendable`: the library only reads credentials after they were set up, and its manual allows that from any thread.
package final class TLSIdentity: @unchecked Sendable {
    let handle: gnutls_certificate_credentials_t

    /// Both files are PEM; the certificate file holds the chain, leaf first. Blocks for as long as reading takes.
    package init(certificateFile: String, keyFile: String) throws(TLSFailure) {
        handle = try allocateCredentials()
        let status = gnutls_certificate_set_x509_key_file(handle, certificateFile, keyFile, GNUTLS_X509_FMT_PEM)
        guard status >= 0 else {
            throw .identity(Self.reason(status, certificateFile: certificateFile, keyFile: keyFile))
        }
    }

    deinit {
        gnutls_certificate_free_credentials(handle)
    }

    private static func reason(_ status: Int32, certificateFile: String, keyFile: String) -> String {
        switch status {
        case GNUTLS_E_FILE_ERROR: "cannot read \(certificateFile) or \(keyFile)"
        case GNUTLS_E_CERTIFICATE_KEY_MISMATCH: "the key in \(keyFile) does not belong to \(certificateFile)"
        default: "cannot use \(certificateFile) with \(keyFile): \(TLSFailure.words(status))"
        }
    }
}

/// Whom a client believes: the system's certificate authorities, or those of one file.
///
/// `@unchecked Sendable`: as `TLSIdentity`.
package final class TLSTrust: @unchecked Sendable {
    let handle: gnutls_certificate_credentials_t

    /// The system's store. Reading it takes some ten milliseconds: make one and keep it.
    package init() throws(TLSFailure) {
        handle = try allocateCredentials()
        try TLSFailure.check(gnutls_certificate_set_x509_system_trust(handle), "read the system's trust store")
    }

    /// - Parameter authoritiesFile: PEM certificates.
    package init(authoritiesFile: String) throws(TLSFailure) {
        handle = try allocateCredentials()
        let count = gnutls_certificate_set_x509_trust_file(handle, authoritiesFile, GNUTLS_X509_FMT_PEM)
        guard count > 0 else {
            throw .identity("no certificate in \(authoritiesFile)" + (count < 0 ? ": \(TLSFailure.words(count))" : ""))
        }
    }

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
