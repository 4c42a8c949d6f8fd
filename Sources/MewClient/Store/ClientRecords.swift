public import MewBase
public import MewIdentity
public import MewWire

/// Everything a client keeps between runs: the daemons it knows, the last operation ID, and the operations whose end it has
/// not heard.
public struct ClientRecords: Hashable, Sendable {
    public var registry = Registry()
    /// The last one any process of this device used.
    public private(set) var operationSource = OperationSource(last: nil)
    /// Oldest first. Ended operations are removed at once.
    public private(set) var operations: [Operation] = []

    /// Operations whose end is not known. A person settles them with `mew ops`; more would never be looked at.
    public static let maxOperations = 1_000

    public init() {}

    /// The next operation of this device, recorded as being sent. Nil when too many wait for their end.
    public mutating func begin(
        _ kind: Operation.Kind, at daemon: NodeID, session: SessionID?, by instance: ClientInstance? = nil,
        wall: WallTime, entropy: some Entropy
    ) -> Operation? {
        guard operations.count < Self.maxOperations else { return nil }
        let milliseconds = UInt64(clamping: wall.milliseconds)
        let id = OperationID(operationSource.next(wallMilliseconds: milliseconds, entropy: entropy))
        let operation = Operation(id: id, daemon: daemon, session: session, kind: kind, begun: wall, instance: instance)
        operations.append(operation)
        return operation
    }

    /// Keeps how far an operation got; drops it when it is over. One that was dropped meanwhile stays dropped.
    public mutating func record(_ operation: Operation) {
        guard let index = operations.firstIndex(where: { $0.id == operation.id }) else { return }
        if operation.isOver { operations.remove(at: index) } else { operations[index] = operation }
    }

    @discardableResult
    public mutating func drop(_ id: OperationID) -> Operation? {
        guard let index = operations.firstIndex(where: { $0.id == id }) else { return nil }
        return operations.remove(at: index)
    }

    /// Forgets a daemon with everything that was asked of it.
    @discardableResult
    public mutating func forget(_ node: NodeID) throws(Registry.Refusal) -> DaemonRecord {
        operations.removeAll { $0.daemon == node }
        return try registry.forget(node)
    }
}

extension ClientRecords {
    /// Version of the stored form. 2 names who asked; 1 is still read.
    static let format: UInt32 = 2

    init(registry: Registry, lastOperation: ULID?, operations: [Operation]) {
        self.registry = registry
        self.operations = operations
        operationSource = OperationSource(last: lastOperation)
    }
}
