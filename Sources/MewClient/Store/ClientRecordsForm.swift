internal import MewBase
internal import MewIdentity
package import MewWire

// The stored form: one JSON object. Unknown fields are ignored; a newer format is refused by number, because writing it back
// would lose what it holds.

extension ClientRecords {
    /// The bytes to store.
    public var stored: [UInt8] { encoded() }

    /// - Throws: what is wrong with the bytes, in one sentence part.
    public init(stored bytes: [UInt8]) throws(StoredFormError) {
        let json: JSON
        do throws(JSONError) {
            json = try JSON(parsing: bytes)
        } catch {
            throw StoredFormError(problem: "\(error)")
        }
        do throws(FieldError) {
            self = try ClientRecords.decode(json)
        } catch {
            throw StoredFormError(problem: "\(error)")
        }
    }
}

/// Bytes that are no client records.
public struct StoredFormError: Error, Hashable, Sendable, CustomStringConvertible {
    let problem: String
    public var description: String { problem }
}

extension ClientRecords: Record {
    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        let format = try f.required("format", old.map { _ in Self.format })
        guard format <= Self.format else {
            throw FieldError("is \(format), but this program knows formats up to \(Self.format)", path: "format")
        }
        let daemons: [DaemonRecord] = try f.required("daemons", old?.registry.daemons)
        let last: ULID? = try f.optional("last_op_id", old?.operationSource.last)
        let operations: [Operation] = try f.required("operations", old?.operations)
        let texts: [Draft]? = try f.optional("drafts", old.flatMap { $0.drafts.all.isEmpty ? nil : $0.drafts.all })
        let revision: UInt64? = try f.optional("last_draft", old?.drafts.lastRevision)
        self.init(
            registry: Registry(daemons), lastOperation: last, operations: operations,
            drafts: Drafts(texts ?? [], lastRevision: revision ?? 0))
    }
}

extension DaemonRecord: Record {
    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        let hex: String = try f.required("node_id", old?.node.hex)
        guard let node = NodeID(hex: hex) else { throw FieldError("is no node ID", path: "node_id") }
        let name: String = try f.required("name", old?.name)
        let addresses: [String] = try f.required("addrs", old?.addresses.map(\.description))
        let relays: [String] = try f.required("relays", old?.relays)
        let scope: Scope? = try f.optional("scope", old?.scope)
        let token: String? = try f.optional("token", old?.token)
        let version: String? = try f.optional("version", old?.version)
        let lastProof: WallTime? = try f.optional("last_proof_ms", old?.lastProof)
        let reachCounter: UInt64? = try f.optional("reach_counter", old?.reachCounter)
        let boots: [BootID]? = try f.optional("boots", old.flatMap { $0.boots.isEmpty ? nil : $0.boots })
        let named: [String]? = try f.optional(
            "named_relays", old.flatMap { $0.namedRelays.isEmpty ? nil : $0.namedRelays })
        let former: [String]? = try f.optional(
            "former_relays", old.flatMap { $0.formerRelays.isEmpty ? nil : $0.formerRelays })
        let access: [RelayAccess]? = try f.optional(
            "relay_access", old.flatMap { $0.relayAccess.isEmpty ? nil : $0.relayAccess })
        let numbers: [SessionNumbers.Entry]? = try f.optional(
            "session_numbers", old.flatMap { $0.sessionNumbers.entries.isEmpty ? nil : $0.sessionNumbers.entries })
        let lastNumber: UInt64? = try f.optional(
            "last_session_number", old.flatMap { $0.sessionNumbers.last == 0 ? nil : $0.sessionNumbers.last })
        let addedAt: WallTime = try f.required("added_at_ms", old?.addedAt)
        self.init(
            node: node, name: name, addresses: addresses.compactMap { SocketAddress($0) }, relays: relays, scope: scope,
            token: token, version: version, lastProof: lastProof, reachCounter: reachCounter,
            boots: boots ?? [], namedRelays: named ?? [], formerRelays: former ?? [], relayAccess: access ?? [],
            sessionNumbers: SessionNumbers(numbers ?? [], last: lastNumber ?? 0), addedAt: addedAt)
    }
}

extension SessionNumbers.Entry: Record {
    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        session = try f.required("session_id", old?.session)
        number = try f.required("number", old?.number)
    }
}

extension Draft: Record {
    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        let hex: String = try f.required("node_id", old?.daemon.hex)
        guard let daemon = NodeID(hex: hex) else { throw FieldError("is no node ID", path: "node_id") }
        let session: SessionID = try f.required("session_id", old?.session)
        let revision: UInt64 = try f.required("revision", old?.revision.number)
        let text: String = try f.required("text", old?.text)
        self.init(daemon: daemon, session: session, revision: DraftRevision(number: revision), text: text)
    }
}

extension Operation: Record {
    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        let id: OperationID = try f.required("op_id", old?.id)
        let hex: String = try f.required("node_id", old?.daemon.hex)
        guard let daemon = NodeID(hex: hex) else { throw FieldError("is no node ID", path: "node_id") }
        let session: SessionID? = try f.optional("session_id", old?.session)
        let kind: Kind = try f.required("kind", old?.kind)
        let begun: WallTime = try f.required("begun_ms", old?.begun)
        let state = try State(&f, old?.state)
        let instance: String? = try f.optional("instance", old?.instance?.text)
        let content: String? = try f.optional("content", old?.content?.text)
        let draft: UInt64? = try f.optional("draft", old?.draft?.number)
        self.init(
            id: id, daemon: daemon, session: session, kind: kind, state: state, begun: begun,
            instance: instance.map { ClientInstance($0) }, content: content.map { OperationContent(text: $0) },
            draft: draft.map { DraftRevision(number: $0) })
    }
}

extension Operation.Kind: WireEnum {}

extension Operation.State {
    private enum Name: String, WireEnum {
        case sending, stored, delivered, settled, refused, unknown, absent
    }

    private var name: Name {
        switch self {
        case .sending: .sending
        case .stored: .stored
        case .delivered: .delivered
        case .settled: .settled
        case .refused: .refused
        case .unknown: .unknown
        case .absent: .absent
        }
    }

    /// Ended operations are not kept, so that what they ended with needs no form.
    fileprivate init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        let name = try f.required("state", old?.name)
        let turn: TurnID? = try f.optional("turn_id", old?.turn)
        switch name {
        case .sending: self = .sending
        case .stored: self = .stored(turn)
        case .delivered: self = .delivered(turn)
        case .settled: self = .settled(nil)
        case .refused: self = .refused(.internal, message: "")
        case .unknown: self = .unknown
        case .absent: self = .absent
        }
    }
}
