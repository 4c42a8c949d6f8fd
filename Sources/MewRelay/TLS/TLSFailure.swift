internal import CQuic

/// Why a TLS connection did not come about, or broke.
package enum TLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The peer's certificate is not one we trust for the name we dialled; half a sentence.
    case certificate(String)
    /// A certificate or key file that cannot be used; and what to do, a whole sentence.
    case identity(String, hint: String)
    /// The peer ended the handshake or the connection with an alert.
    case alert(String)
    /// The peer does not speak TLS at all.
    case notSpoken
    /// The peer's bytes break the protocol, or the connection ended inside of it.
    case broken(String)
    /// The library refused something that does not depend on the peer: no memory, no trust store.
    case library(String)

    package var description: String {
        switch self {
        case .certificate(let reason): "the certificate is not trusted: \(reason)"
        case .identity(let reason, _): reason
        case .alert(let reason): "the other side ended TLS: \(reason)"
        case .notSpoken: "what answers there does not speak TLS"
        case .broken(let reason): "TLS broke: \(reason)"
        case .library(let reason): "TLS library: \(reason)"
        }
    }

    /// What to do; nil when that is not known.
    package var hint: String? {
        if case .identity(_, let hint) = self { hint } else { nil }
    }

    static func words(_ status: Int32) -> String {
        gnutls_strerror(status).map { String(cString: $0) } ?? "error \(status)"
    }

    static func check(_ status: Int32, _ doing: String) throws(TLSFailure) {
        guard status >= 0 else { throw .library("cannot \(doing): \(words(status))") }
    }
}
