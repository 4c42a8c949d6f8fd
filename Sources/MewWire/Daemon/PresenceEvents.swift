// Daemon → clients of a session: who else is there, and who may type (spec/mew-wire.md §3.2.1, spec/native-wire.md §2).

extension DaemonMessage {
    /// `client_attached`.
    public struct ClientAttached: Record, Sendable, Equatable {
        public var client: ClientNumber
        public var clientKind: ClientKind

        public init(client: ClientNumber, clientKind: ClientKind) {
            (self.client, self.clientKind) = (client, clientKind)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            client = try f.required("client_id", old?.client)
            clientKind = try f.required("client_kind", old?.clientKind)
        }
    }

    /// `client_detached`.
    public struct ClientDetached: Record, Sendable, Equatable {
        public var client: ClientNumber

        public init(client: ClientNumber) {
            self.client = client
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            client = try f.required("client_id", old?.client)
        }
    }

    /// `control_yielded`: this client lets others type.
    public struct ControlYielded: Record, Sendable, Equatable {
        public var client: ClientNumber

        public init(client: ClientNumber) {
            self.client = client
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            client = try f.required("client_id", old?.client)
        }
    }

    /// `lease_state`, native: who holds a lease; null for nobody.
    public struct LeaseState: Record, Sendable, Equatable {
        public var kind: LeaseKind
        public var target: String
        public var holder: By?

        public init(kind: LeaseKind, target: String, holder: By? = nil) {
            (self.kind, self.target, self.holder) = (kind, target, holder)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            kind = try f.required("kind", old?.kind)
            target = try f.required("target", old?.target)
            holder = try f.nullable("holder", old?.holder)
        }
    }
}
