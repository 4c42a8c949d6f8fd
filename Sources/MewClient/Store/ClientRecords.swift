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
    public var drafts = Drafts()

    /// Operations whose end is not known. A person settles them with `mew ops`; more would never be looked at.
    public static let maxOperations = 1_000
    /// Bytes that all of them said together. What is beyond it is sent, and cannot be sent again.
    public static let maxContentBytes = 4 << 20

    public init() {}

    /// The next operation of this device, recorded as being sent. Nil when too many wait for their end.
    public mutating func begin(
        _ kind: Operation.Kind, at daemon: NodeID, session: SessionID?, by instance: ClientInstance? = nil,
        saying content: OperationContent? = nil, from draft: DraftRevision? = nil, wall: WallTime,
        entropy: some Entropy
    ) -> Operation? {
        guard operations.count < Self.maxOperations else { return nil }
        let milliseconds = UInt64(clamping: wall.milliseconds)
        let id = OperationID(operationSource.next(wallMilliseconds: milliseconds, entropy: entropy))
        let operation = Operation(
            id: id, daemon: daemon, session: session, kind: kind, begun: wall, instance: instance,
            content: content.flatMap { fits($0) ? $0 : nil }, draft: draft)
        operations.append(operation)
        return operation
    }

    private func fits(_ content: OperationContent) -> Bool {
        let kept = operations.reduce(0) { $0 + ($1.content?.bytes.count ?? 0) }
        return kept + content.bytes.count <= Self.maxContentBytes
    }

    /// One draft is one prompt: sent again only when the one before certainly did not arrive.
    ///
    /// - Throws: when there is an operation of it whose end is not known, or it is not what is written now.
    func checkUnsent(
        _ draft: DraftRevision, to session: SessionID, of daemon: NodeID
    ) throws(ClientStoreError) {
        guard drafts[daemon, session]?.revision == draft else { throw .draftChanged }
        if let sent = operations.first(where: { $0.draft == draft }) { throw .unknownDelivery(sent.id) }
    }

    /// An operation that said the same to the same session, and of which nobody knows whether it arrived.
    func unknown(
        _ content: OperationContent, to session: SessionID, of daemon: NodeID, as known: (Operation) -> Operation
    ) -> Operation? {
        operations.lazy
            .filter { $0.daemon == daemon && $0.session == session && $0.content == content }
            .map(known).first { $0.state == .unknown }
    }

    /// Keeps how far an operation got; drops it when it is over. One that was dropped meanwhile stays dropped, and one that another
    /// program knows to be further stays so. The draft it was made from goes when the daemon has it, unless it was changed since.
    public mutating func record(_ operation: Operation) {
        if operation.hasArrived, let draft = operation.draft { drafts.clear(draft) }
        guard let index = operations.firstIndex(where: { $0.id == operation.id }) else { return }
        if operation.isOver {
            operations.remove(at: index)
        } else if !operations[index].isAhead(of: operation) {
            operations[index] = operation
        }
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
        drafts.forget(node)
        return try registry.forget(node)
    }
}

extension ClientRecords {
    /// Version of the stored form. 2 has drafts, and says of operations who asked and what was said; 1 is still read.
    static let format: UInt32 = 2

    init(registry: Registry, lastOperation: ULID?, operations: [Operation], drafts: Drafts) {
        self.registry = registry
        self.drafts = drafts
        self.operations = operations
        operationSource = OperationSource(last: lastOperation)
    }
}
