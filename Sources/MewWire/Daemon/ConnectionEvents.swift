// Daemon → client: the connection (spec/mew-wire.md §3.2.1, spec/native-wire.md §2). R = to the requester, A = to everyone.

extension DaemonMessage {
    /// `remote_ready` (R): the hello is accepted.
    public struct RemoteReady: Record, Sendable, Equatable {
        public var scope: Scope
        /// Native, as are the following: what this daemon can do; use only what both sides name.
        public var capabilities: [String]?
        /// New at each start of the daemon.
        public var bootID: BootID?
        public var limits: Limits?
        public var you: You?

        public init(
            scope: Scope, capabilities: [String]? = nil, bootID: BootID? = nil, limits: Limits? = nil,
            you: You? = nil
        ) {
            (self.scope, self.capabilities, self.bootID, self.limits) = (scope, capabilities, bootID, limits)
            self.you = you
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            scope = try f.required("scope", old?.scope)
            capabilities = try f.native("capabilities", old?.capabilities)
            bootID = try f.native("boot_id", old?.bootID)
            limits = try f.native("limits", old?.limits)
            you = try f.native("you", old?.you)
        }
    }

    /// What this daemon accepts.
    public struct Limits: Record, Sendable, Equatable {
        /// Bytes of one message.
        public var frameBytes: UInt64
        /// Bytes of one prompt.
        public var promptBytes: UInt64
        /// Bytes of one upload.
        public var uploadBytes: UInt64
        /// Open channels of one connection.
        public var streams: UInt64

        public init(frameBytes: UInt64, promptBytes: UInt64, uploadBytes: UInt64, streams: UInt64) {
            (self.frameBytes, self.promptBytes, self.uploadBytes) = (frameBytes, promptBytes, uploadBytes)
            self.streams = streams
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            frameBytes = try f.required("frame", old?.frameBytes)
            promptBytes = try f.required("prompt", old?.promptBytes)
            uploadBytes = try f.required("upload", old?.uploadBytes)
            streams = try f.required("streams", old?.streams)
        }
    }

    /// What the daemon knows the client as.
    public struct You: Record, Sendable, Equatable {
        public var name: String
        public var scope: Scope

        public init(name: String, scope: Scope) {
            (self.name, self.scope) = (name, scope)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            name = try f.required("name", old?.name)
            scope = try f.required("scope", old?.scope)
        }
    }

    /// `pong` (R).
    public struct Pong: Record, Sendable, Equatable {
        public var version: String

        public init(version: String) {
            self.version = version
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            version = try f.required("version", old?.version)
        }
    }

    /// `error` (R): a request failed outside of a turn. Never fatal to the connection.
    ///
    /// Natively only for what no receipt can answer: reading requests, and operations of which nothing could be stored.
    public struct ErrorReply: Record, Sendable, Equatable {
        public var message: String
        public var code: ErrorCode?
        /// Only with `op_id_required`, `scope` and `not_saved`.
        public var operation: OperationID?

        public init(message: String, code: ErrorCode? = nil, operation: OperationID? = nil) {
            (self.message, self.code, self.operation) = (message, code, operation)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            message = try f.required("message", old?.message)
            code = try f.native("code", old?.code)
            operation = try f.native("op_id", old?.operation)
        }
    }

    /// `pair_pending` (R, native): a person at the daemon has to confirm this device.
    public struct PairPending: Record, Sendable, Equatable {
        public var expiresInSeconds: UInt64

        public init(expiresInSeconds: UInt64) {
            self.expiresInSeconds = expiresInSeconds
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            expiresInSeconds = try f.required("expires_in_s", old?.expiresInSeconds)
        }
    }

    /// `revoked` (A to that device, native): this device may no longer enter; the link closes with code 2.
    public struct Revoked: Record, Sendable, Equatable {
        public var at: WallTime
        public var reason: String

        public init(at: WallTime, reason: String) {
            (self.at, self.reason) = (at, reason)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            at = try f.required("at_ms", old?.at)
            reason = try f.required("reason", old?.reason)
        }
    }

    /// `daemon_state` (A, native), within 2 s of a change: whether anything is being saved.
    public struct DaemonState: Record, Sendable, Equatable {
        public var isSaving: Bool
        public var reason: String?

        public init(isSaving: Bool, reason: String? = nil) {
            (self.isSaving, self.reason) = (isSaving, reason)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            isSaving = try f.required("saving", old?.isSaving)
            reason = try f.optional("reason", old?.reason)
        }
    }

    /// `reach` (R and A, native): where this daemon can be found from now on. Clients keep the one with the highest counter.
    public struct Reach: Record, Sendable, Equatable {
        public var counter: UInt64
        /// Relay URLs, home first.
        public var relays: [String]
        /// `192.0.2.1:443`, `[2001:db8::1]:443`.
        public var addresses: [String]
        /// True when a relay says that the daemon's identity is in use elsewhere as well (NEEDS N-18).
        public var isElsewhere: Bool?

        public init(counter: UInt64, relays: [String], addresses: [String], isElsewhere: Bool? = nil) {
            (self.counter, self.relays, self.addresses) = (counter, relays, addresses)
            self.isElsewhere = isElsewhere
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            counter = try f.required("counter", old?.counter)
            relays = try f.required("relays", old?.relays)
            addresses = try f.required("addrs", old?.addresses)
            isElsewhere = try f.optional("elsewhere", old?.isElsewhere)
        }
    }
}
