internal import CWslay
package import MewBase

/// RFC 6455 frames, read and written by wslay: the framing of `mew/wire/0` after the upgrade, and of the relay protocol.
///
/// Takes messages whole or in fragments, answers pings, ignores pongs. A client masks what it
/// sends and a server does not; a peer that does it the other way round breaks the protocol (RFC 6455 §5.1).
///
/// A class because wslay calls back, and not `Sendable`: whoever owns the stream owns it.
package final class WebSocketFraming: MessageFraming {
    package enum Role: Sendable { case client, server }

    /// What the messages are.
    package enum Kind: Sendable {
        /// Writes text; takes binary messages as well, because some clients send their text so.
        case text
        /// Writes binary; text is no message and is passed over (spec/iroh-wire.md §4.2).
        case binary
    }

    private let context: wslay_event_context_ptr
    private let exchange: WebSocketExchange
    private let kind: Kind

    /// - Parameter entropy: for the mask keys of a client; a server draws nothing.
    package init(
        role: Role, kind: Kind = .text, maxMessageBytes: Int = FramingLimits.maxMessageBytes, entropy: any Entropy
    ) {
        self.kind = kind
        exchange = WebSocketExchange(
            role: role, takesText: kind == .text, maxMessageBytes: maxMessageBytes, entropy: entropy)
        // wslay keeps a plain pointer; `exchange` lives as long as this object, and the context no longer.
        let userData = Unmanaged.passUnretained(exchange).toOpaque()
        var callbacks = WebSocketExchange.callbacks
        var context: wslay_event_context_ptr?
        let status =
            switch role {
            case .client: wslay_event_context_client_init(&context, &callbacks, userData)
            case .server: wslay_event_context_server_init(&context, &callbacks, userData)
            }
        guard status == 0, let context else { preconditionFailure("out of memory for a WebSocket") }
        self.context = context
        // Otherwise wslay reserves a whole frame from its declared length; we collect what arrives and bound it ourselves.
        wslay_event_config_set_no_buffering(context, 1)
        wslay_event_config_set_max_recv_msg_length(context, UInt64(Int64.max))
    }

    deinit {
        wslay_event_context_free(context)
    }

    // MARK: Receiving

    package func receive(_ bytes: [UInt8]) {
        exchange.take(bytes)
        guard !exchange.isOver else { return }
        let status = wslay_event_recv(context)
        if exchange.isClosing {
            // wslay has queued its answer when it saw the whole frame; otherwise this is one.
            queueClose(code: 0)
            exchange.end()
        } else if let failure = exchange.failure {
            if case .tooLarge = failure { queueClose(code: UInt16(WSLAY_CODE_MESSAGE_TOO_BIG.rawValue)) }
        } else if status != 0 {
            // A frame that wslay could not even read.
            exchange.fail(.protocolViolation("a malformed WebSocket frame"))
        }
        flush()
        if !exchange.isOver, wslay_event_get_read_enabled(context) == 0 { exchange.fail(violation) }
    }

    package func next() throws(ChannelError) -> FramingStep {
        try exchange.next()
    }

    package func receiveEnd() throws(ChannelError) {
        try exchange.receiveEnd()
    }

    /// wslay tells what it found by the close code it has just sent (RFC 6455 §7.4.1).
    private var violation: ChannelError {
        switch wslay_event_get_status_code_sent(context) {
        case UInt16(WSLAY_CODE_INVALID_FRAME_PAYLOAD_DATA.rawValue):
            .protocolViolation("WebSocket text that is not UTF-8")
        default:
            .protocolViolation("a WebSocket frame that breaks RFC 6455")
        }
    }

    // MARK: Sending

    package var heldBytes: Int { exchange.heldBytes }

    package func takeReplies() -> [UInt8] {
        exchange.takeOutput()
    }

    package func encode(_ message: [UInt8]) throws(ChannelError) -> [UInt8] {
        guard message.count <= exchange.maxMessageBytes else { throw .tooLarge(declaredBytes: message.count) }
        let opcode = kind == .text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME
        let status = message.withUnsafeBufferPointer { bytes in
            var queued = wslay_event_msg(
                opcode: UInt8(opcode.rawValue), msg: bytes.baseAddress, msg_length: bytes.count)
            return wslay_event_queue_msg(context, &queued)
        }
        // The only refusal left is that a Close was sent: everything else about the message is checked.
        guard status == 0 else { throw .finished }
        flush()
        return exchange.takeOutput()
    }

    /// A Close without a code, as the stock daemon sends it. Nothing when one was sent already.
    package func encodeEnd() -> [UInt8] {
        queueClose(code: 0)
        flush()
        return exchange.takeOutput()
    }

    /// - Parameter code: RFC 6455 §7.4; 0 for a Close without one. Refused by wslay, and needless, when one is queued already.
    private func queueClose(code: UInt16) {
        wslay_event_queue_close(context, code, nil, 0)
    }

    /// Moves what wslay has queued into our output; it takes everything, so this never waits.
    private func flush() {
        wslay_event_send(context)
    }
}
