public import MewIdentity

/// Who did something: `{"node_id": <64 hex digits>, "name", "client_kind"}` (spec/native-wire.md §1).
public struct By: Record, Sendable, Hashable {
    public var node: NodeID
    /// The name the daemon knows the device by; clean it before showing it.
    public var name: String
    public var clientKind: ClientKind

    public init(node: NodeID, name: String, clientKind: ClientKind) {
        (self.node, self.name, self.clientKind) = (node, name, clientKind)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        node = try f.required("node_id", old?.node)
        name = try f.required("name", old?.name)
        clientKind = try f.required("client_kind", old?.clientKind)
    }
}

/// Node IDs travel as 64 hex digits: what iroh and the stock phone print and parse.
extension NodeID: WireValue {
    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> NodeID {
        guard case .string(let text) = json, let node = NodeID(hex: text) else {
            throw FieldError("must be a node ID of 64 hex digits")
        }
        return node
    }

    package func write(to fields: inout Fields) { hex.write(to: &fields) }
}
