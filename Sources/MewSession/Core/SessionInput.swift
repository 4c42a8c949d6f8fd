public import MewIdentity
public import MewWire

/// What can happen to a session.
public enum SessionInput: Sendable {
    /// A client wants to hear the session. `isNew`: it has just made it, and is told nothing of its past.
    case attach(AttachedClient, after: SequenceNumber?, epoch: Epoch?, isNew: Bool)
    /// A client goes on after a gap, on the channel it has.
    case resume(ClientID, after: SequenceNumber)
    /// A client that cannot ask has read everything from before its gap.
    case drained(ClientID)
    case detach(ClientID)
    /// A message of a client, attached or (for what belongs on control) not.
    case request(ClientRequest)
    /// A call of the agent that runs `turn`.
    case agent(AgentCallID, AgentCall, turn: TurnID)
    /// The agent returned.
    case turnEnded(TurnID, AgentResult)
    /// `/clear` or `/compact` was carried out; false when the agent cannot.
    case commandEnded(isDone: Bool)
    /// The session was loaded: settle what a crash left behind. `isAgentGone`: no process of it is alive; otherwise none is
    /// started until the recorded one is gone.
    case recovered(isAgentGone: Bool)
    /// The daemon goes away in order: the turn is over, what waits stays.
    case shutDown
    /// The session is about to be erased: the turn is over, and nothing starts any more.
    case deleting
    /// The session goes away for good: everything that was promised in it gets an end. Its receipts must be part of the commit
    /// that deletes the session; the rest of its writes goes with it.
    case erased
    /// The device may no longer do anything.
    case revoked(NodeID)
    /// The device may do less than before: what waits of it and needs more is not done.
    case lowered(NodeID, Scope)
    /// `SessionCore.nextDeadline` has come.
    case deadline
}

/// A client as the session sees it.
public struct AttachedClient: Sendable, Equatable {
    public let id: ClientID
    public let link: ApplicationProtocol
    public let by: By
    /// The optional ones that it offered.
    public let capabilities: Set<String>

    public init(id: ClientID, link: ApplicationProtocol, by: By, capabilities: Set<String> = []) {
        (self.id, self.link, self.by, self.capabilities) = (id, link, by, capabilities)
    }

    /// A stock phone, which shows things in ways of its own (spec/mew-wire.md §5.8).
    public var isStockPhone: Bool { link == .stock && by.clientKind == .mobile }
}

/// One message of a client, with everything that is known about who sent it.
public struct ClientRequest: Sendable {
    public let message: ClientMessage
    /// The channel that it came on.
    public let client: ClientID
    public let link: ApplicationProtocol
    public let by: By
    /// Admitted by the ledger; nil on stock links and for messages that change nothing.
    public let operation: OperationKey?
    /// SHA-256 of what is asked, kept with the receipt.
    public let content: [UInt8]
    public let ref: String?
    /// Whether this connection's prompts name their sessions.
    public let namesSessions: Bool
    /// How many bytes of words of its device wait in other sessions.
    public let wordBytesElsewhere: Int

    public init(
        _ message: ClientMessage, client: ClientID, link: ApplicationProtocol, by: By, operation: OperationKey?,
        content: [UInt8] = [], ref: String? = nil, namesSessions: Bool = true, wordBytesElsewhere: Int = 0
    ) {
        self.wordBytesElsewhere = wordBytesElsewhere
        (self.message, self.client, self.link, self.by) = (message, client, link, by)
        (self.operation, self.content, self.ref, self.namesSessions) = (operation, content, ref, namesSessions)
    }
}

extension ClientRequest {
    public func with(wordBytesElsewhere bytes: Int) -> Self {
        Self(
            message, client: client, link: link, by: by, operation: operation, content: content, ref: ref,
            namesSessions: namesSessions, wordBytesElsewhere: bytes)
    }
}

/// Names one call of an agent until it is answered.
public struct AgentCallID: Hashable, Sendable {
    public let number: UInt64

    public init(_ number: UInt64) { self.number = number }
}

/// What an agent asks of its session; the cases are those of `AgentHost`.
public enum AgentCall: Sendable {
    case emit(AgentEvent)
    case permission(ToolPermission)
    case workspacePermission(path: String)
    case ask([Question], call: CallID)
    case plan(ProposedPlan, call: CallID)
    case goal(String, call: CallID)
    case takeGuidance
    case willStart(AgentProcess)
    case didEnd(AgentProcess)
}

/// What an agent's call returns.
public enum AgentReply: Sendable, Hashable {
    case done
    case permission(PermissionVerdict)
    case answers([String])
    case plan(PlanVerdict)
    case goal(accepted: Bool)
    case guidance([String])
    case failed(AgentHostError)
}
