internal import CNghttp3

/// The peer broke HTTP/3, or the library has no memory: the connection has to end with `code`.
package struct HTTP3Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// An application error code of RFC 9114 §8.1.
    package let code: UInt64
    package let description: String

    init(status: Int32) {
        code = nghttp3_err_infer_quic_app_error_code(status)
        description = String(cString: nghttp3_strerror(status))
    }

    /// For what is over without fault.
    package static let noError: UInt64 = 0x100
    /// We take no more of this peer.
    package static let excessiveLoad: UInt64 = 0x107
    /// A request or a response that is none.
    package static let messageError: UInt64 = 0x10e
    /// The sender of a request does not want the answer any more, or the server gives it up.
    package static let requestCancelled: UInt64 = 0x10c
    /// A datagram or capsule that breaks RFC 9297 (§3.3).
    package static let datagramError: UInt64 = 0x33
}
