import CQuic
import Glibc

/// A self-signed certificate with its key, made for one test and written to files.
package struct TestCertificate {
    package struct Failure: Error {
        let doing: String
        let status: Int32
    }

    package let directory: ScratchDirectory
    package let certificateFile: String
    package let keyFile: String

    /// - Parameters:
    ///   - name: the DNS name, or the IP address when it is one (`127.0.0.1`).
    ///   - validSeconds: counted from a minute ago; at most 60 makes one that has expired.
    package init(for name: String, validSeconds: Int = 86_400) throws {
        directory = ScratchDirectory()
        certificateFile = directory.path + "/certificate.pem"
        keyFile = directory.path + "/key.pem"
        var key: gnutls_x509_privkey_t?
        var certificate: gnutls_x509_crt_t?
        try Self.check(gnutls_x509_privkey_init(&key), "key")
        try Self.check(gnutls_x509_crt_init(&certificate), "certificate")
        defer {
            gnutls_x509_privkey_deinit(key)
            gnutls_x509_crt_deinit(certificate)
        }
        try Self.check(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, 256, 0), "generate")
        try Self.fill(certificate, name: name, validSeconds: validSeconds)
        try Self.check(gnutls_x509_crt_set_key(certificate, key), "set key")
        try Self.check(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), "sign")
        try write(certificateFile) { gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, $0) }
        try write(keyFile) { gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, $0) }
    }

    private static func check(_ status: Int32, _ doing: String) throws {
        guard status >= 0 else { throw Failure(doing: doing, status: status) }
    }

    private static func fill(_ certificate: gnutls_x509_crt_t?, name: String, validSeconds: Int) throws {
        let start = time(nil) - 60
        let serial: [UInt8] = [1]
        try check(gnutls_x509_crt_set_version(certificate, 3), "version")
        try check(gnutls_x509_crt_set_serial(certificate, serial, 1), "serial")
        try check(gnutls_x509_crt_set_activation_time(certificate, start), "start")
        try check(gnutls_x509_crt_set_expiration_time(certificate, start + validSeconds), "end")
        try check(gnutls_x509_crt_set_basic_constraints(certificate, 1, 0), "authority")
        // The library refuses certificates without a subject.
        let subject = "CN=\(name)"
        try check(gnutls_x509_crt_set_dn(certificate, subject, nil), "subject")
        let octets = name.split(separator: ".").compactMap { UInt8($0) }
        let isAddress = octets.count == 4
        let data = isAddress ? octets : Array(name.utf8)
        let status = data.withUnsafeBufferPointer {
            gnutls_x509_crt_set_subject_alt_name(
                certificate, isAddress ? GNUTLS_SAN_IPADDRESS : GNUTLS_SAN_DNSNAME, $0.baseAddress,
                UInt32($0.count), 0)
        }
        try check(status, "name")
    }

    private func write(_ path: String, _ export: (UnsafeMutablePointer<gnutls_datum_t>) -> Int32) throws {
        var datum = gnutls_datum_t()
        try Self.check(export(&datum), "export")
        guard let file = fopen(path, "w") else { throw Failure(doing: "open \(path)", status: -1) }
        defer { fclose(file) }
        guard fwrite(datum.data, 1, Int(datum.size), file) == Int(datum.size) else {
            throw Failure(doing: "write \(path)", status: -1)
        }
    }
}
