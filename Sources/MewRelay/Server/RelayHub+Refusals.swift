internal import MewBase
internal import MewIdentity
internal import MewLoop

// What the operator hears of those who were not let in.

extension RelayHub {
    /// By the access rules.
    func tellRefused(_ node: NodeID, of connection: any RelayClient, _ refusal: AccessRules.Refusal) {
        var fields = ["node": Diagnostic.Value.text(node.z32)]
        if let account = connection.account { fields["account"] = .text(account.z32) }
        tell("client_refused", "a client was refused: \(refusal.words)", connection, .rules, fields)
    }

    /// - Parameter claim: the node that it says to be, or to come for.
    func tellUnproven(_ claim: NodeID, of connection: any RelayClient, _ unproven: RelayAdmission.Unproven) {
        tell(
            "client_refused", "a client was refused: \(unproven.words)", connection, .proof,
            ["claims": .text(claim.z32)])
    }

    /// The record of a node that the relay does not serve.
    func tellRecordRefused(_ node: NodeID, of connection: any RelayClient, _ refusal: AccessRules.Refusal) {
        tell(
            "record_refused", "a node's record was refused: \(refusal.words)", connection, .rules,
            ["node": .text(node.z32)])
    }

    /// Beyond a bound.
    func tellRefused(_ source: SourceBudget.Source, _ peer: SocketAddress, _ refusal: SourceBudget.Refusal) {
        tell("connection_refused", "a connection was refused: \(words(refusal, source))", (source, peer), .bounds, [:])
    }

    private func words(_ refusal: SourceBudget.Refusal, _ source: SourceBudget.Source) -> String {
        switch refusal {
        case .connections: "all \(limits.connections) places are taken (--max-connections)"
        case .strangers: "\(limits.strangers) have not said who they are, and no more of these may wait"
        case .sourceConnections:
            "the network \(source) has \(limits.connectionsPerSource) connections already (--max-per-source)"
        case .sourceStrangers:
            "of the network \(source) \(limits.strangersPerSource) have not said who they are, and no more of these may wait"
        }
    }

    private func tell(
        _ name: String, _ message: String, _ connection: any RelayClient, _ kind: RefusalLog.Kind,
        _ fields: [String: Diagnostic.Value]
    ) {
        tell(name, message, (connection.source, connection.peer), kind, fields)
    }

    private func tell(
        _ name: String, _ message: String, _ from: (source: SourceBudget.Source, peer: SocketAddress),
        _ kind: RefusalLog.Kind, _ more: [String: Diagnostic.Value]
    ) {
        guard diagnostics.wants(.info), let leftOut = refusals.refused(from.source, kind, now: now) else { return }
        var fields = more
        fields["from"] = .text(from.peer.description)
        // Of the same network and kind.
        if leftOut > 0 { fields["not_told_before"] = .integer(Int64(leftOut)) }
        diagnostics.record(Diagnostic(.info, "relay", name, message, fields))
    }
}
