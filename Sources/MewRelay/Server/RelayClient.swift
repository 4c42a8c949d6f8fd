internal import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewWire

/// Whoever is connected to the relay, by whichever front: what the table's actions and the log need of it.
protocol RelayClient: AnyObject {
    var number: ConnectionNumber { get }
    var source: SourceBudget.Source { get }
    var peer: SocketAddress { get }
    /// The node whose guest it is, when it has proved that.
    var account: NodeID? { get }
    /// Who has received packets of this node, and is told when it goes.
    var audience: Set<NodeID> { get set }
    var lastReceiver: NodeID? { get set }
    /// Whom it was told last not to be here, and when.
    var lastAbsent: (node: NodeID, told: Instant)? { get set }

    /// Something about its own connection.
    func tell(_ health: RelayHealth)
    /// A node that it has heard from, or sends to, is not here; a hint.
    func hear(gone node: NodeID)
    /// Its node has newer connections, and one too many.
    func evict()
}

extension RelayConnection: RelayClient {
    var peer: SocketAddress { socket.peer }

    func tell(_ health: RelayHealth) {
        switch (version, health) {
        case (.v2, _): answer(.status(health))
        case (.v1, .sameNodeConnectedElsewhere):
            answer(.health("this node is connected once more, and that connection gets its packets"))
        case (.v1, _): break
        }
    }

    func hear(gone node: NodeID) { hint(.endpointGone(node)) }

    func evict() { end(code: 1008, "this node has newer connections", .evicted) }
}
