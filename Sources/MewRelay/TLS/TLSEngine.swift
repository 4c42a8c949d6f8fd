internal import CQuic
internal import CQuicShim

/// One TLS connection (1.3, or 1.2) without sockets: ciphertext and plaintext go in and come out.
///
/// The owner hands in what the socket gave, and writes what `takeOutput` gives. Nothing is held between two calls but what
/// the library keeps of an unfinished record, at most 16 KiB. Touched by one thread at a time.
package final class TLSEngine {
    private enum State {
        case handshaking
        case established
        /// The peer said goodbye (close_notify).
        case ended
        case failed(TLSFailure)
    }

    /// Only tests reach it from outside: what a peer may do that we never do.
    let session: gnutls_session_t
    /// Outlives the session, which only points to it.
    private let credentials: AnyObject
    /// Outlives the session as well.
    private var expectedName: UnsafeMutableBufferPointer<CChar>?
    private var state = State.handshaking
    private var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var output: [UInt8] = []
    private var saidGoodbye = false
    /// What the peer has sent begins with it: the type of a record, if it is one.
    private var firstByte: UInt8?

    /// With which each record begins (RFC 8446 §5.1): change_cipher_spec, alert, handshake, application_data.
    static let recordTypes: ClosedRange<UInt8> = 20...23
    /// RFC 8446 §5.1: a record holds at most 2^14 bytes of plaintext.
    private static let recordBytes = 1 << 14

    package init(server identity: TLSIdentity) throws(TLSFailure) {
        credentials = identity
        session = try Self.session(flags: mq_stream_server_flags(), credentials: identity.handle)
        attach()
    }

    /// Call `start` to get the first flight.
    ///
    /// - Parameter host: the certificate must be for it: a DNS name or an IP address.
    package init(client trust: TLSTrust, host: String) throws(TLSFailure) {
        credentials = trust
        session = try Self.session(flags: mq_stream_client_flags(), credentials: trust.handle)
        attach()
        // RFC 6066 §3: "Literal IPv4 and IPv6 addresses are not permitted in 'HostName'."
        if !host.contains(":"), host.contains(where: { $0.isLetter }) {
            let status = gnutls_server_name_set(session, GNUTLS_NAME_DNS, host, host.utf8.count)
            try TLSFailure.check(status, "name the server")
        }
        // The library keeps the pointer until it looks at the certificate.
        let bytes = host.utf8CString
        let name = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
        _ = name.initialize(from: bytes)
        expectedName = name
        gnutls_session_set_verify_cert(session, name.baseAddress, 0)
    }

    deinit {
        gnutls_deinit(session)
        expectedName?.deallocate()
    }

    private static func session(
        flags: UInt32, credentials: gnutls_certificate_credentials_t
    ) throws(TLSFailure) -> gnutls_session_t {
        var allocated: gnutls_session_t?
        try TLSFailure.check(gnutls_init(&allocated, flags), "allocate a session")
        guard let session = allocated else { throw .library("no memory for a session") }
        let priorities = gnutls_priority_set(session, TLSPriorities.shared.handle)
        let credential = gnutls_credentials_set(
            session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(credentials))
        guard priorities >= 0, credential >= 0 else {
            gnutls_deinit(session)
            throw .library("cannot set up a session: \(TLSFailure.words(min(priorities, credential)))")
        }
        return session
    }

    /// The library calls back during our calls only, so an unretained pointer to ourselves is enough.
    private func attach() {
        gnutls_transport_set_ptr(session, Unmanaged.passUnretained(self).toOpaque())
        gnutls_transport_set_push_function(session) { transport, bytes, count in
            TLSEngine.of(transport).output += UnsafeRawBufferPointer(start: bytes, count: count)
            return count
        }
        gnutls_transport_set_pull_function(session) { transport, buffer, room in
            TLSEngine.of(transport).pull(buffer, room)
        }
        gnutls_transport_set_pull_timeout_function(session) { transport, _ in
            TLSEngine.of(transport).input.isEmpty ? 0 : 1
        }
    }

    private static func of(_ transport: gnutls_transport_ptr_t?) -> TLSEngine {
        guard let transport else { preconditionFailure("the library hands back the pointer it was given") }
        return Unmanaged.fromOpaque(transport).takeUnretainedValue()
    }

    private func pull(_ buffer: UnsafeMutableRawPointer?, _ room: Int) -> Int {
        guard !input.isEmpty, let buffer else {
            mq_stream_would_block(UnsafeMutableRawPointer(session))
            return -1
        }
        let count = min(room, input.count)
        UnsafeMutableRawBufferPointer(start: buffer, count: count).copyMemory(from: .init(rebasing: input[..<count]))
        input = UnsafeRawBufferPointer(rebasing: input[count...])
        return count
    }

    // MARK: - Life

    /// The handshake is over, and whoever was to be checked is checked.
    package var isEstablished: Bool { if case .established = state { true } else { false } }

    /// The peer said that nothing more comes.
    package var isEnded: Bool { if case .ended = state { true } else { false } }

    /// A client's first flight. A server has nothing to say first.
    package func start() throws(TLSFailure) {
        try shakeHands()
    }

    /// Takes what the socket gave.
    ///
    /// - Parameter deliver: gets the plaintext, record by record; the bytes are valid only within the call.
    package func receive(
        _ ciphertext: UnsafeRawBufferPointer, _ deliver: (UnsafeRawBufferPointer) -> Void
    ) throws(TLSFailure) {
        if case .failed(let failure) = state { throw failure }
        firstByte = firstByte ?? ciphertext.first
        input = ciphertext
        defer { input = UnsafeRawBufferPointer(start: nil, count: 0) }
        if case .handshaking = state { try shakeHands() }
        try readRecords(deliver)
    }

    private func shakeHands() throws(TLSFailure) {
        while case .handshaking = state {
            let status = gnutls_handshake(session)
            if status == 0 {
                state = .established
            } else if status == GNUTLS_E_AGAIN {
                return
            } else if gnutls_error_is_fatal(status) != 0 {
                throw fail(failure(status))
            }
        }
    }

    private func readRecords(_ deliver: (UnsafeRawBufferPointer) -> Void) throws(TLSFailure) {
        let result = withUnsafeTemporaryAllocation(byteCount: Self.recordBytes, alignment: 16) {
            scratch -> Result<Void, TLSFailure> in
            while case .established = state {
                let before = input.count
                let count = gnutls_record_recv(session, scratch.baseAddress, scratch.count)
                if count > 0 {
                    deliver(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
                } else if count == 0 {
                    state = .ended
                } else if count == Int(GNUTLS_E_AGAIN) {
                    // Also said behind a message that is no data, such as a ticket: then there may be records behind it.
                    guard !input.isEmpty, input.count < before else { return .success(()) }
                } else if gnutls_error_is_fatal(Int32(count)) != 0 || count == Int(GNUTLS_E_REHANDSHAKE) {
                    // Renegotiation, which TLS 1.3 has not and nobody here needs.
                    return .failure(fail(failure(Int32(count))))
                }
            }
            return .success(())
        }
        try result.get()
    }

    private func fail(_ failure: TLSFailure) -> TLSFailure {
        state = .failed(failure)
        return failure
    }

    /// The alert that tells the peer is queued in the output by then.
    private func failure(_ status: Int32) -> TLSFailure {
        switch status {
        case GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR:
            return .certificate(CertificateDoubt(gnutls_session_get_verify_cert_status(session)).words)
        case GNUTLS_E_FATAL_ALERT_RECEIVED:
            let name = gnutls_alert_get_name(gnutls_alert_get(session))
            return .alert(name.map { String(cString: $0) } ?? "an unknown alert")
        default:
            if let firstByte, !Self.recordTypes.contains(firstByte) { return .notSpoken }
            gnutls_alert_send_appropriate(session, status)
            return .broken(TLSFailure.words(status))
        }
    }

    // MARK: - Sending

    /// Encrypts. What comes out waits in the output.
    package func write(_ plaintext: UnsafeRawBufferPointer) throws(TLSFailure) {
        if case .failed(let failure) = state { throw failure }
        precondition(isEstablished || isEnded, "nothing is written before the handshake is complete")
        var rest = plaintext
        while !rest.isEmpty {
            let count = gnutls_record_send(session, rest.baseAddress, rest.count)
            guard count > 0 else { throw fail(failure(Int32(count))) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Tells the peer that nothing more comes (close_notify). Idempotent.
    package func finish() {
        guard !saidGoodbye, isEstablished || isEnded else { return }
        saidGoodbye = true
        gnutls_bye(session, GNUTLS_SHUT_WR)
    }

    /// What is to be written to the socket, in order. Also after a failure: it holds the alert.
    package func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    package var hasOutput: Bool { !output.isEmpty }

    /// Keying material (RFC 5705, RFC 8446 §7.5); nil before the handshake is complete.
    package func exportKeyingMaterial(label: String, context: [UInt8], byteCount: Int) -> [UInt8]? {
        guard isEstablished || isEnded else { return nil }
        var material = [UInt8](repeating: 0, count: byteCount)
        let status = material.withUnsafeMutableBytes { target in
            label.utf8CString.withUnsafeBufferPointer { label in
                context.withUnsafeBytes { context in
                    gnutls_prf_rfc5705(
                        session, label.count - 1, label.baseAddress, context.count,
                        context.baseAddress?.assumingMemoryBound(to: CChar.self), target.count,
                        target.baseAddress?.assumingMemoryBound(to: CChar.self))
                }
            }
        }
        return status == 0 ? material : nil
    }
}
