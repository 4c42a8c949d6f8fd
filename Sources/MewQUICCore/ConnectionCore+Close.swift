internal import CQuic
internal import MewBase

/// The last packet of a connection that we closed, repeated when the peer still sends (RFC 9000 §10.2.1).
package struct Farewell: Sendable {
    package let packet: [UInt8]
    package let path: CorePath
}

/// A close that was decided and not yet written.
struct PendingClose {
    enum Kind {
        case application(code: UInt64)
        case transport(code: UInt64)
        case library(status: Int32)
        case alert(UInt8)
    }

    let kind: Kind
    /// Goes into the packet.
    let reason: String
    let closure: QUICClosure
}

// How a connection ends.

extension ConnectionCore {
    /// Longest reason that is sent: it must fit into the smallest packet beside the frame itself.
    static let maxReasonBytes = 256

    /// Tells the peer `code` and `reason` with the next transmission. The first cause wins.
    package func close(code: UInt64, reason: String) {
        guard closure == nil, pendingClose == nil else { return }
        let reason = Self.clipped(reason)
        pendingClose = PendingClose(
            kind: .application(code: code), reason: reason, closure: .local(code: code, reason: reason))
    }

    /// Refuses a peer before any application saw it (RFC 9000 §20.1, CONNECTION_REFUSED).
    package func refuse(reason: String) {
        guard closure == nil, pendingClose == nil else { return }
        pendingClose = PendingClose(
            kind: .transport(code: QUICClosure.connectionRefused), reason: reason,
            closure: .transport(code: QUICClosure.connectionRefused, byPeer: false, reason: reason))
    }

    /// Ends without a word to the peer: a dial that was given up.
    package func abandon() {
        end(.local(code: 0, reason: ""))
    }

    /// Ends as after the idle time-out: there is nobody any more who would hear a word.
    package func fellSilent() {
        end(.idle)
    }

    /// Ends without a word to the peer: it knows, or it is gone.
    func end(_ closure: QUICClosure) {
        guard self.closure == nil else { return }
        self.closure = closure
        events.append(.closed(closure))
    }

    /// A call of the library returned `status`, which ends the connection.
    func failed(_ status: Int32) {
        guard closure == nil, pendingClose == nil else { return }
        switch status {
        case NGTCP2_ERR_DRAINING: end(peerClosure())
        case NGTCP2_ERR_IDLE_CLOSE: end(.idle)
        case NGTCP2_ERR_HANDSHAKE_TIMEOUT: end(.handshakeTimeout)
        case NGTCP2_ERR_DROP_CONN, NGTCP2_ERR_CLOSING: end(.transport(code: 0, byPeer: true, reason: "dropped"))
        case NGTCP2_ERR_RECV_VERSION_NEGOTIATION:
            end(.transport(code: 0, byPeer: true, reason: "the peer does not speak QUIC version 1"))
        case NGTCP2_ERR_CRYPTO: failHandshake()
        default:
            let code = ngtcp2_err_infer_quic_transport_error_code(status)
            let text = String(cString: ngtcp2_strerror(status))
            pendingClose = PendingClose(
                kind: .library(status: status), reason: "", closure: .transport(code: code, byPeer: false, reason: text)
            )
        }
    }

    private func failHandshake() {
        let missingExtension: UInt8 = 109
        let alert = lacksTransportParameters ? missingExtension : ngtcp2_conn_get_tls_alert(connection)
        let code = QUICClosure.cryptoErrorBase + UInt64(alert)
        let closure: QUICClosure =
            if let wrong = tls.wrongKey {
                .wrongPeer(wrong)
            } else if tls.peerCertificate == .unusable {
                .noPeerKey
            } else if code == QUICClosure.noApplicationProtocol {
                .noProtocol
            } else {
                .transport(code: code, byPeer: false, reason: "TLS alert \(alert)")
            }
        pendingClose = PendingClose(kind: .alert(alert), reason: "", closure: closure)
    }

    /// What the peer's CONNECTION_CLOSE said.
    private func peerClosure() -> QUICClosure {
        guard let error = ngtcp2_conn_get_ccerr(connection)?.pointee else { return .reset }
        let reason = String(
            decoding: UnsafeBufferPointer(start: error.reason, count: min(error.reasonlen, Self.maxReasonBytes)),
            as: UTF8.self)
        switch error.type {
        case NGTCP2_CCERR_TYPE_APPLICATION: return .peer(code: error.error_code, reason: reason)
        default:
            if error.error_code == QUICClosure.noApplicationProtocol { return .noProtocol }
            return .transport(code: error.error_code, byPeer: true, reason: reason)
        }
    }

    /// Writes the pending close into `target` and ends the connection.
    func writeClose(_ pending: PendingClose, into target: UnsafeMutableRawBufferPointer, now: Instant) -> PacketBatch? {
        pendingClose = nil
        defer { end(pending.closure) }
        var reason = pending.reason
        let written = reason.withUTF8 { reason in
            var error = ngtcp2_ccerr()
            ngtcp2_ccerr_default(&error)
            switch pending.kind {
            case .application(let code):
                ngtcp2_ccerr_set_application_error(&error, code, reason.baseAddress, reason.count)
            case .transport(let code):
                ngtcp2_ccerr_set_transport_error(&error, code, reason.baseAddress, reason.count)
            case .library(let status): ngtcp2_ccerr_set_liberr(&error, status, nil, 0)
            case .alert(let alert): ngtcp2_ccerr_set_tls_alert(&error, alert, nil, 0)
            }
            var info = ngtcp2_pkt_info()
            return ngtcp2_conn_write_connection_close_versioned(
                connection, transmitter.path.pointer, NGTCP2_PKT_INFO_VERSION, &info,
                target.baseAddress?.assumingMemoryBound(to: UInt8.self), min(target.count, configuration.maxUDPPayload),
                &error, timestamp(now))
        }
        guard written > 0 else { return nil }
        let path = transmitter.path.path
        farewell = Farewell(packet: Array(target[..<Int(written)]), path: path)
        return PacketBatch(byteCount: Int(written), segmentSize: Int(written), path: path, ecn: 0)
    }

    /// Whole characters only.
    private static func clipped(_ reason: String) -> String {
        var bytes = 0
        return String(
            reason.prefix { character in
                bytes += character.utf8.count
                return bytes <= maxReasonBytes
            })
    }
}
