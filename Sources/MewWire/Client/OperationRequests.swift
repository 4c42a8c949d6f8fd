// Client → daemon, native only: operations and leases (spec/native-wire.md §2). `list_agents` has no fields.

extension ClientMessage {
    /// `receipt_query`: one `receipt` for each operation; `absent` means it was never stored.
    public struct ReceiptQuery: Record, Sendable, Equatable {
        /// Bounds the burst of answers; a client with more asks again.
        public static let maxOperations = 100

        /// At most 100.
        public var operations: [OperationID]
        /// Kills an absent ID: should the original still arrive, it is refused with `op_settled`.
        public var settle: Bool

        public init(operations: [OperationID], settle: Bool) {
            (self.operations, self.settle) = (operations, settle)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            operations = try f.required("op_ids", old?.operations)
            guard operations.count <= Self.maxOperations else {
                throw FieldError("must have at most \(Self.maxOperations) entries", path: "op_ids")
            }
            settle = try f.required("settle", old?.settle)
        }
    }

    /// `request_query`: how a request ended that is open no more, for a device that has only its handle. Answered by one
    /// `request_resolved` with its `ref`, or by `error` with `unknown_request`.
    public struct RequestQuery: Record, Sendable, Equatable {
        /// The end of the request's ID, or all of it. What is shorter than a handle names nothing.
        public var ending: String

        public init(ending: String) { self.ending = ending }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            ending = try f.required("ending", old?.ending, upTo: TextLimits.nameBytes)
        }
    }

    /// `lease`: takes or gives back the right to type or to size a terminal.
    public struct Lease: Record, Sendable, Equatable {
        public var kind: LeaseKind
        /// The session or terminal.
        public var target: String
        public var act: LeaseAct

        public init(kind: LeaseKind, target: String, act: LeaseAct) {
            (self.kind, self.target, self.act) = (kind, target, act)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            kind = try f.required("kind", old?.kind)
            target = try f.required("target", old?.target, upTo: TextLimits.nameBytes)
            act = try f.required("act", old?.act)
        }
    }
}

/// What a lease is for.
public enum LeaseKind: String, WireEnum, Sendable, Hashable {
    case input, size
}

/// What a client does to a lease.
public enum LeaseAct: String, WireEnum, Sendable, Hashable {
    case takeIfFree = "take_if_free"
    case takeOver = "take_over"
    case release
}
