internal import CQuic
internal import CQuicShim

/// The X.509 side of a server's identity: a certificate that was loaded elsewhere, or one that says nothing.
enum GeneratedCertificate {
    /// Gives `target` the certificate and the key of `source`.
    static func copy(from source: OpaquePointer, to target: OpaquePointer) throws(TLSFailure) {
        var key: OpaquePointer?
        try check(gnutls_certificate_get_x509_key(source, 0, &key), "read the certificate's key")
        defer { gnutls_x509_privkey_deinit(key) }
        var chain: UnsafeMutablePointer<OpaquePointer?>?
        var count: UInt32 = 0
        try check(gnutls_certificate_get_x509_crt(source, 0, &chain, &count), "read the certificate")
        defer {
            for index in 0..<Int(count) { gnutls_x509_crt_deinit(chain?[index]) }
            mq_free(chain)
        }
        try check(gnutls_certificate_set_x509_key(target, chain, Int32(count), key), "load the certificate")
    }

    /// For clients that look at no certificate and cannot do without: signed by itself, valid for ever, with a key that nobody
    /// keeps.
    static func make(for target: OpaquePointer) throws(TLSFailure) {
        var (key, certificate): (OpaquePointer?, OpaquePointer?)
        try check(gnutls_x509_privkey_init(&key), "make a key")
        defer { gnutls_x509_privkey_deinit(key) }
        try check(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, secp256r1Bits, 0), "make a key")
        try check(gnutls_x509_crt_init(&certificate), "make a certificate")
        defer { gnutls_x509_crt_deinit(certificate) }
        try fill(certificate, key)
        try check(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), "sign a certificate")
        var chain = [certificate]
        try check(gnutls_certificate_set_x509_key(target, &chain, 1, key), "load a certificate")
    }

    private static let secp256r1Bits: UInt32 = 256

    private static func fill(_ certificate: OpaquePointer?, _ key: OpaquePointer?) throws(TLSFailure) {
        try check(gnutls_x509_crt_set_version(certificate, 3), "make a certificate")
        let serial: [UInt8] = [1]
        try check(gnutls_x509_crt_set_serial(certificate, serial, serial.count), "make a certificate")
        // From the beginning of time until 99991231235959Z, "no well-defined expiration date" (RFC 5280 §4.1.2.5).
        try check(gnutls_x509_crt_set_activation_time(certificate, 0), "make a certificate")
        try check(gnutls_x509_crt_set_expiration_time(certificate, 4_294_197_631), "make a certificate")
        try check(gnutls_x509_crt_set_dn(certificate, "CN=mew relay", nil), "make a certificate")
        try check(gnutls_x509_crt_set_key(certificate, key), "make a certificate")
    }
}
