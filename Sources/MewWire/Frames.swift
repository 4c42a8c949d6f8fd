// One message with its envelope: one JSON object, `type` first, then the message's own fields, then those of the envelope
// (spec/mew-wire.md §0.3, spec/native-wire.md §2).
//
// The rule for what we do not know, kept by both decoders and tested with messages from the future: unknown fields are ignored;
// an unknown type is handed back by name, so that a client can skip and count the event and a daemon can refuse the request
// with `unknown_type`; the envelope is read in every case, so that a refusal finds its request and a skipped event its number.

/// What came out of a message's bytes.
public enum Decoded<Frame: Sendable & Equatable, Envelope: Sendable & Equatable>: Sendable, Equatable {
    case decoded(Frame)
    /// The peer is newer than we are, or speaks of something we left out. The name comes from the peer: at most 64 bytes, to be
    /// cleaned before it is shown.
    case unknownType(name: String, Envelope)
    /// Not JSON, or not the fields of its type. The sentence says which field is wrong and quotes nothing of the peer's.
    case invalid(sentence: String, Envelope)
}

/// A message of a client.
public struct ClientFrame: Sendable, Equatable {
    public var message: ClientMessage
    public var envelope: Envelope

    /// The native fields that any message of a client may carry.
    public struct Envelope: Record, Sendable, Equatable {
        /// Names the operation; on every message that changes something.
        public var operation: OperationID?
        /// Names the question; comes back on the replies and errors. At most 64 bytes.
        public var ref: String?
        /// Which session, where the message does not say it itself.
        public var sessionID: SessionID?

        public init(operation: OperationID? = nil, ref: String? = nil, sessionID: SessionID? = nil) {
            (self.operation, self.ref, self.sessionID) = (operation, ref, sessionID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = f.ownsSession ? old?.sessionID : try f.native("session_id", old?.sessionID)
            operation = try f.native("op_id", old?.operation)
            ref = try f.ref(old?.ref)
        }
    }

    public init(
        _ message: ClientMessage, operation: OperationID? = nil, ref: String? = nil, sessionID: SessionID? = nil
    ) {
        self.message = message
        envelope = Envelope(operation: operation, ref: ref, sessionID: sessionID)
    }

    public var operation: OperationID? { envelope.operation }
    public var ref: String? { envelope.ref }
    /// The session that the message or its envelope names.
    public var sessionID: SessionID? { message.sessionID ?? envelope.sessionID }

    /// The bytes for a peer on such a link; nil for a message that does not exist there.
    public func encoded(for link: ApplicationProtocol) -> [UInt8]? {
        let (kind, payload) = message.parts
        guard link == .native || !kind.isNativeOnly else { return nil }
        return encodeFrame(type: kind.rawValue, payload, envelope, for: link)
    }

    public static func decode(
        _ bytes: [UInt8], from link: ApplicationProtocol, limits: JSON.Limits = .wire
    ) -> Decoded<ClientFrame, Envelope> {
        decodeFrame(bytes, from: link, limits: limits, noEnvelope: Envelope()) { type, f throws(FieldError) in
            guard let kind = ClientMessage.Kind.named(type), link == .native || !kind.isNativeOnly else { return nil }
            return try ClientMessage(kind, from: &f)
        } frame: { message, envelope in
            ClientFrame(
                message, operation: envelope.operation, ref: envelope.ref, sessionID: envelope.sessionID)
        }
    }
}

/// A message of a daemon.
public struct DaemonFrame: Sendable, Equatable {
    public var message: DaemonMessage
    public var envelope: Envelope

    /// The native fields that any message of a daemon may carry.
    public struct Envelope: Record, Sendable, Equatable {
        /// Which session, where the message does not say it itself.
        public var sessionID: SessionID?
        /// The message's place in the session's journal. Clients advance only by it.
        public var sequence: SequenceNumber?
        /// The `ref` of the request that this answers.
        public var ref: String?

        public init(sessionID: SessionID? = nil, sequence: SequenceNumber? = nil, ref: String? = nil) {
            (self.sessionID, self.sequence, self.ref) = (sessionID, sequence, ref)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = f.ownsSession ? old?.sessionID : try f.native("session_id", old?.sessionID)
            sequence = f.ownsSequence ? old?.sequence : try f.native("seq", old?.sequence)
            ref = try f.ref(old?.ref)
        }
    }

    public init(
        _ message: DaemonMessage, sessionID: SessionID? = nil, sequence: SequenceNumber? = nil, ref: String? = nil
    ) {
        self.message = message
        envelope = Envelope(sessionID: sessionID, sequence: sequence, ref: ref)
    }

    public var sequence: SequenceNumber? { envelope.sequence }
    public var ref: String? { envelope.ref }
    /// The session that the message or its envelope names.
    public var sessionID: SessionID? { message.sessionID ?? envelope.sessionID }

    /// The bytes for a peer on such a link; nil for a message that does not exist there.
    public func encoded(for link: ApplicationProtocol) -> [UInt8]? {
        let (kind, payload) = message.parts
        guard link == .native || !kind.isNativeOnly else { return nil }
        return encodeFrame(type: kind.rawValue, payload, envelope, for: link)
    }

    public static func decode(
        _ bytes: [UInt8], from link: ApplicationProtocol, limits: JSON.Limits = .wire
    ) -> Decoded<DaemonFrame, Envelope> {
        decodeFrame(bytes, from: link, limits: limits, noEnvelope: Envelope()) { type, f throws(FieldError) in
            guard let kind = DaemonMessage.Kind.named(type), link == .native || !kind.isNativeOnly else { return nil }
            return try DaemonMessage(kind, from: &f)
        } frame: { message, envelope in
            DaemonFrame(message, sessionID: envelope.sessionID, sequence: envelope.sequence, ref: envelope.ref)
        }
    }
}
