internal import MewBase
internal import MewWire

/// What can happen to what a client knows about one daemon.
enum ClientInput: Sendable {
    // The connection.
    case phase(LinkPhase)
    /// Said before the daemon accepted this device.
    case greeted(DaemonMessage)
    /// The daemon accepted this device, over this path.
    case linkReady(ReadyLink, LinkPath)
    /// With the time of the last proof that the daemon was there, where more is known than its last message.
    case linkLost(ClientError, lastProof: WallTime? = nil)
    /// What belongs to no attached session alone.
    case control(DaemonFrame)
    /// A message that cannot be read.
    case skipped

    // Sessions.
    /// Somebody wants to be attached to it.
    case opening(SessionID)
    /// The daemon showed it on a channel.
    case bound(SessionID)
    case session(DaemonFrame, SessionID)
    /// A stock daemon sends no history of a session it has just made.
    case startedOnStock(SessionID)
    /// The daemon does not know it.
    case gone(SessionID)
    /// It could not be opened for whoever wanted it.
    case notOpened(SessionID)
    /// It is attached again, after an attempt that failed.
    case attaching(SessionID)
    /// Another session took its channel, or it could not be attached again.
    case channelLost(SessionID, ClientError)
    /// The daemon ended its channel; the link lives.
    case channelEnded(SessionID)
    case left(SessionID)
    /// The daemon has taken everything that was said on a channel that was left.
    case drained(SessionID)
    /// A page before what is shown was asked for; its answer carries `ref`.
    case pageAsked(SessionID, before: UInt64, ref: String)

    // Operations.
    /// Recorded, and about to be sent.
    case begun(Operation, Intent)
    /// About to be sent once more.
    case sentAgain(OperationID, by: ClientInstance)
    case notSent(OperationID, ClientError)
    /// Nobody will ever hear more of it: a stock daemon gives no receipts.
    case unreceipted(OperationID)
    /// The answer to a query of ours that somebody waited for.
    case answered(DaemonMessage.Receipt, isSettled: Bool)
    /// Operations of programs that have ended, or that somebody asks about; each as far as it is known.
    case found([Operation])
    /// The moment to ask about everything that is not over.
    case askAgain
    /// What was kept of what people are writing to sessions of this daemon after the change `asOf`. Lists may be told in another
    /// order than they were read.
    case drafts([Draft], asOf: DraftRevision)
}

/// What an operation is about, as far as it is shown before the daemon says anything.
enum Intent: Sendable {
    case prompt(String)
    case answer(RequestID)
    case other
}

/// What is to be done about it, in order.
enum ClientEffect: Sendable, Equatable {
    /// Tell everybody, and wait for slow readers.
    case publish(ClientEvent)
    /// Keep how far it got, and tell without waiting.
    case keep(Operation)
    /// Keep what was learnt about the daemon.
    case remember(RecordNews)
    case query([OperationID], settle: Bool, ref: String)
    case resume(SessionID, after: SequenceNumber)
    /// Ask for the lists; the answers come as messages to everyone do.
    case listSessions
    /// Attach again, from the event we have.
    case reattach(SessionID)
    /// To whoever waits for this answer.
    case handOver(DaemonFrame)
    /// The link may try these.
    case pass(addresses: [SocketAddress], relays: [String])
    /// The connection proved good: the next loss starts from a short wait.
    case succeeded
    /// Said just before the link is closed with code 2.
    case revoked(DaemonMessage.Revoked)
}

/// What was learnt about a daemon, to be kept in its record: applied here and, by whoever keeps the records, there.
enum RecordNews: Sendable, Equatable {
    case ready(boot: BootID?, scope: Scope?, LinkPath, at: WallTime)
    case version(String?)
    /// When it last proved to be there.
    case proof(WallTime?)
    case reach(DaemonMessage.Reach)

    func apply(to record: inout DaemonRecord) {
        switch self {
        case .ready(let boot, let scope, let path, let proof):
            if let boot { _ = record.answered(from: boot) }
            record.token = nil
            record.scope = scope ?? record.scope
            record.lastProof = proof
            switch path {
            case .direct(let address): record.prefer(address)
            case .relay(let url): record.prefer(relay: url)
            }
        case .version(let version): record.version = version
        case .proof(let time): record.lastProof = time
        case .reach(let reach): record.learn(reach)
        }
    }
}
