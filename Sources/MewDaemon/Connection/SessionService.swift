package import MewIdentity
package import MewWire

/// Who asks: a paired device on one of its connections.
package struct Requester: Sendable {
    package let connection: ConnectionNumber
    package let node: NodeID
    /// As the device list has it.
    package let name: String
    package let link: ApplicationProtocol
    /// As the client said when it attached; `unknown` before.
    package var clientKind: ClientKind

    package init(
        connection: ConnectionNumber, node: NodeID, name: String, link: ApplicationProtocol,
        clientKind: ClientKind = .unknown
    ) {
        self.connection = connection
        self.node = node
        self.name = name
        self.link = link
        self.clientKind = clientKind
    }

    package var by: By { By(node: node, name: name, clientKind: clientKind) }
}

/// What connections need of the sessions. Requests arrive here decoded, authorized and on the right channel
/// (`RequestRules`); every answer, also a refusal, goes into the outbox of the channel that asked.
package protocol SessionService: Sendable {
    /// A request that needs no attached session: lists, receipts, renaming, deleting, …
    func answer(_ request: ClientFrame, from requester: Requester, into outbox: Outbox) async

    /// `new_session`, `new_session_in_group` or `attach_session`. On success everything from `session_ready` on is queued,
    /// and the session's stream follows until `detach`. Nil when it was refused; the outbox has the refusal then.
    ///
    /// - Parameter former: what this stock connection was attached to. Detached just before `session_ready`; on a refusal it
    ///   stays.
    func attach(
        _ request: ClientFrame, from requester: Requester, into outbox: Outbox,
        replacing former: (any SessionAttachment)?
    ) async -> (any SessionAttachment)?
}

/// One channel's hold on a session.
package protocol SessionAttachment: Sendable {
    var sessionID: SessionID { get }

    /// A request to the session: prompt, answers, cancel, modes, history, `resume_session`, …
    func receive(_ request: ClientFrame) async

    /// A stock client was too slow and has read everything that was left: tell it the transcript and the open requests again.
    func refresh() async

    /// Ends the stream. Nothing else ends: a turn runs on without clients. Idempotent.
    func detach() async
}
