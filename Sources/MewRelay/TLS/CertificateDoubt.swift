internal import CQuic

/// What the library has against a certificate, in our words: its own are whole sentences, and the first says only that there is
/// something.
struct CertificateDoubt {
    /// Half a sentence. All that was found, except what follows from something else.
    let words: String

    /// What a certificate can be doubted for, what a person can do something about first.
    private static let doubts: [(flag: gnutls_certificate_status_t, words: String)] = [
        (GNUTLS_CERT_UNEXPECTED_OWNER, "it is for another name"),
        (GNUTLS_CERT_EXPIRED, "it has expired"),
        (GNUTLS_CERT_NOT_ACTIVATED, "it is not valid yet"),
        (GNUTLS_CERT_REVOKED, "it was revoked"),
        (GNUTLS_CERT_SIGNER_NOT_FOUND, "its issuer is unknown"),
        (GNUTLS_CERT_SIGNER_NOT_CA, "its issuer is no authority"),
        (GNUTLS_CERT_SIGNER_CONSTRAINTS_FAILURE, "its issuer may not sign for it"),
        (GNUTLS_CERT_SIGNATURE_FAILURE, "its signature is wrong"),
        (GNUTLS_CERT_INSECURE_ALGORITHM, "it is signed by an insecure algorithm"),
        (GNUTLS_CERT_PURPOSE_MISMATCH, "it is not for servers"),
        (GNUTLS_CERT_UNKNOWN_CRIT_EXTENSIONS, "it demands something that is unknown here"),
        (GNUTLS_CERT_MISSING_OCSP_STATUS, "it demands a proof that it was not revoked, and there is none"),
        (GNUTLS_CERT_INVALID_OCSP_STATUS, "the proof that it was not revoked is wrong"),
        (GNUTLS_CERT_REVOCATION_DATA_SUPERSEDED, "the list of what was revoked is old"),
        (GNUTLS_CERT_REVOCATION_DATA_ISSUED_IN_FUTURE, "the list of what was revoked is of the future"),
    ]

    /// - Parameter status: of `gnutls_session_get_verify_cert_status`: a set of flags.
    init(_ status: UInt32) {
        let found = Self.doubts.filter { status & $0.flag.rawValue != 0 }.map(\.words)
        words = found.isEmpty ? "it could not be verified" : found.joined(separator: ", ")
    }
}
