public import MewIdentity
public import MewWire

/// Names one operation for ever: who asked for it, and the number that device gave it.
public struct OperationKey: Record, Sendable, Hashable {
    public var device: NodeID
    public var id: OperationID

    public init(device: NodeID, id: OperationID) {
        (self.device, self.id) = (device, id)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        device = try f.required("device", old?.device)
        id = try f.required("id", old?.id)
    }
}
