internal import CQuic
internal import CQuicShim
internal import MewBase

/// Certificates that the library has allocated: whoever gets them frees them, once.
struct CertificateList {
    private let list: UnsafeMutablePointer<gnutls_x509_crt_t?>
    private let count: UInt32

    init(_ list: UnsafeMutablePointer<gnutls_x509_crt_t?>, _ count: UInt32) {
        (self.list, self.count) = (list, count)
    }

    var leaf: gnutls_x509_crt_t? { count > 0 ? list[0] : nil }

    func free() {
        for index in 0..<Int(count) { gnutls_x509_crt_deinit(list[index]) }
        mq_free(list)
    }
}

extension TLSIdentity {
    /// What the certificate is for (subjectAltName, RFC 5280 §4.2.1.6): its DNS names, `*.example.com` among them, then its IP
    /// addresses, those of IPv6 in brackets.
    package var hosts: [String] {
        var list: UnsafeMutablePointer<gnutls_x509_crt_t?>?
        var count: UInt32 = 0
        guard gnutls_certificate_get_x509_crt(handle, 0, &list, &count) >= 0, let list else { return [] }
        let certificates = CertificateList(list, count)
        defer { certificates.free() }
        guard let leaf = certificates.leaf else { return [] }
        var (names, addresses): ([String], [String]) = ([], [])
        // More names than anybody has; the end is found before.
        for index in 0..<UInt32(1_024) {
            var bytes = [UInt8](repeating: 0, count: Self.longestName)
            var size = bytes.count
            let kind = gnutls_x509_crt_get_subject_alt_name(leaf, index, &bytes, &size, nil)
            if kind == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE { break }
            guard kind >= 0, size <= bytes.count else { continue }
            switch gnutls_x509_subject_alt_name_t(rawValue: UInt32(kind)) {
            case GNUTLS_SAN_DNSNAME: names.append(String(decoding: bytes[..<size], as: UTF8.self))
            case GNUTLS_SAN_IPADDRESS: addresses += Self.host(bytes[..<size]).map { [$0] } ?? []
            default: break
            }
        }
        return names + addresses
    }

    /// A DNS name has at most 253 characters; the library ends it with a zero.
    private static let longestName = 256

    private static func host(_ bytes: ArraySlice<UInt8>) -> String? {
        func number(_ part: ArraySlice<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
        switch bytes.count {
        case 4: return SocketAddress(ipv4: UInt32(number(bytes)), port: 0).host
        case 16:
            let address = SocketAddress(ipv6High: number(bytes.prefix(8)), low: number(bytes.suffix(8)), port: 0)
            return address.family == .ipv6 ? "[\(address.host)]" : address.host
        default: return nil
        }
    }
}
