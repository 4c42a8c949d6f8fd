// Client → daemon: the connection (spec/mew-wire.md §3.1.1). `ping` has no fields.

extension ClientMessage {
    /// `remote_hello`, the first message: authenticates the node ID of the connection. Answered with `remote_ready` or `error`;
    /// natively, without a token, by an unknown device that asks to pair, with `pair_pending`.
    public struct RemoteHello: Record, Sendable, Equatable {
        /// `mew_<ULID>` from the payload of a pairing; single use.
        public var token: String?
        public var deviceName: String
        /// Native, where `ops`, `resume` and `desk` are mandatory: without them the link closes with code 4.
        public var capabilities: [String]?
        /// Name and version of the program, for people.
        public var app: String?
        /// Native: true when a person wants this device to be let in. A native device that only wants to talk never becomes a
        /// question on somebody's screen.
        public var pair: Bool?

        public init(
            token: String? = nil, deviceName: String, capabilities: [String]? = nil, app: String? = nil,
            pair: Bool? = nil
        ) {
            (self.token, self.deviceName, self.capabilities, self.app) = (token, deviceName, capabilities, app)
            self.pair = pair
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            token = try f.optional("token", old?.token)
            deviceName = try f.required("device_name", old?.deviceName)
            capabilities = try f.native("capabilities", old?.capabilities)
            app = try f.native("app", old?.app)
            pair = try f.native("pair", old?.pair)
        }
    }

    /// `set_auto_title`: whether this connection's prompts name their sessions. No reply.
    public struct SetAutoTitle: Record, Sendable, Equatable {
        public var enabled: Bool

        public init(enabled: Bool) {
            self.enabled = enabled
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            enabled = try f.required("enabled", old?.enabled)
        }
    }

    /// `set_auto_summary`: whether the daemon sums up idle sessions. No reply.
    public struct SetAutoSummary: Record, Sendable, Equatable {
        public var enabled: Bool

        public init(enabled: Bool) {
            self.enabled = enabled
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            enabled = try f.required("enabled", old?.enabled)
        }
    }
}
