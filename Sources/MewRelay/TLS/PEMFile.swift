internal import CQuic
internal import MewLoop

/// A file of certificates or with a private key, read whole; what is wrong with it is said by its name.
struct PEMFile {
    let path: String
    let bytes: [UInt8]

    /// Thousands of certificates: the authorities of a whole system are a quarter of it.
    private static let maxBytes = 1 << 20

    init(_ path: String) throws(TLSFailure) {
        self.path = path
        do throws(SystemError) {
            bytes = try WholeFile.bytes(of: path, maxBytes: Self.maxBytes)
        } catch {
            throw .identity(
                "cannot read \(path): \(error.reason)", hint: "Check the path, and that this user may read it.")
        }
    }

    /// What stood in a file once.
    init(_ bytes: [UInt8], called name: String) {
        (path, self.bytes) = (name, bytes)
    }

    // MARK: - What it is

    func mustHoldCertificate() throws(TLSFailure) {
        guard !has("CERTIFICATE") else { return }
        guard !has("PRIVATE KEY") else {
            throw .identity(
                "\(path) holds a private key, and no certificate", hint: "Name the file of the certificate.")
        }
        throw .identity(
            "\(path) holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)",
            hint: "A certificate in DER form becomes one by 'openssl x509 -inform der -in FILE'.")
    }

    func mustHoldKey() throws(TLSFailure) {
        guard !has("ENCRYPTED PRIVATE KEY"), !text.contains("\nProc-Type: 4,ENCRYPTED") else {
            throw .identity(
                "the key in \(path) is encrypted",
                hint: "Write it without a passphrase: 'openssl pkey -in FILE -out KEY'.")
        }
        guard !has("PRIVATE KEY") else { return }
        throw .identity(
            "\(path) holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)", hint: "Name the file of the key.")
    }

    private var text: String { String(decoding: bytes, as: UTF8.self) }

    /// A block with such an ending of its label: `EC PRIVATE KEY` is a private key, too.
    private func has(_ label: String) -> Bool {
        text.split(whereSeparator: \.isNewline).contains { $0.hasPrefix("-----BEGIN ") && $0.contains("\(label)-----") }
    }

    /// False: it has the form, and there is something wrong within.
    var holdsWholeCertificates: Bool {
        withDatum { datum in
            var list: UnsafeMutablePointer<gnutls_x509_crt_t?>?
            var count: UInt32 = 0
            guard gnutls_x509_crt_list_import2(&list, &count, datum, GNUTLS_X509_FMT_PEM, 0) >= 0, let list else {
                return false
            }
            CertificateList(list, count).free()
            return true
        }
    }

    func withDatum<Result>(_ body: (UnsafePointer<gnutls_datum_t>) -> Result) -> Result {
        var bytes = bytes
        return bytes.withUnsafeMutableBufferPointer { bytes in
            var datum = gnutls_datum_t(data: bytes.baseAddress, size: UInt32(bytes.count))
            return body(&datum)
        }
    }
}
