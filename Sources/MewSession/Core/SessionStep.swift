public import MewBase
public import MewWire

/// What follows from one input: first everything in `writes` is made durable, then `effects` are performed in order.
///
/// Nothing may leave the daemon before it is stored (DESIGN §8), so a step whose writes fail has no effects, and the value that
/// made it must be put back to what it was before.
public struct SessionStep: Sendable {
    public var writes: [StoreWrite] = []
    public var effects: [SessionEffect] = []

    public init() {}

    /// The size of the events in it.
    public var eventBytes: Int {
        writes.reduce(0) { sum, write in
            if case .appendEvent(_, let event) = write { sum + event.body.count } else { sum }
        }
    }
}

public enum SessionEffect: Sendable {
    /// A message to some clients.
    case send(SessionMessage, to: Audience)
    /// Journalled events to one client, as they were stored; the first has the number `from`.
    case replay([[UInt8]], from: SequenceNumber, to: ClientID)
    /// From here on the client gets what goes to all who are attached; precedes what it missed. It has
    /// the stream up to `after`.
    case admit(ClientID, after: SequenceNumber)
    /// The client's queue takes the stream in again after a gap; precedes what it missed.
    case restart(ClientID)
    /// The client gets nothing more.
    case release(ClientID)
    /// An operation's receipt is on the disk: remember it, and tell its device.
    case receipt(DaemonMessage.Receipt, OperationKey, client: ClientID?)
    /// Read an older page of messages and send it to the client.
    case loadPage(PageRequest)
    case startTurn(AgentTurn)
    case cancelTurn(TurnID)
    case answer(AgentCallID, AgentReply)
    /// Carry out a command with the agent and come back with `commandEnded`.
    case runCommand(SessionCommand)
    /// The session's line in lists is another one now.
    case listingChanged
    /// For the log.
    case note(Diagnostic)
}

public enum SessionCommand: Hashable, Sendable {
    case forget
    case compact
}

/// Who gets a message.
public enum Audience: Hashable, Sendable {
    /// R: the one who asked.
    case client(ClientID)
    /// S: all who are attached.
    case attached
    /// A: everyone who is authenticated. Of journalled messages the attached native channels get the numbered event.
    case everyone
}

/// A message and how it is numbered.
public struct SessionMessage: Sendable {
    public let message: DaemonMessage
    /// The event's number and its bytes on native links; nil for messages that are not in the journal.
    public let event: EventRow?
    public let ref: String?
    /// Whether it belongs to the session's stream, which a gap interrupts; replies come through.
    public let isReply: Bool
    /// The client has the stream up to here when it has this.
    public let upTo: SequenceNumber?
    /// Messages of a session with equal ones are equal: one encoding does for all who attach at the same time.
    public let screen: ScreenKey?

    public init(
        _ message: DaemonMessage, event: EventRow? = nil, ref: String? = nil, isReply: Bool = false,
        upTo: SequenceNumber? = nil, screen: ScreenKey? = nil
    ) {
        (self.message, self.event, self.ref, self.isReply) = (message, event, ref, isReply)
        self.screen = screen
        self.upTo = upTo ?? event?.sequence
    }
}

/// What the newest page of a session depends on.
public struct ScreenKey: Hashable, Sendable {
    let limits: FirstScreen.Limits
    let transcript: UInt64
    /// Bytes of the lists that are shown besides.
    let lists: Int
    let head: SequenceNumber
    let epoch: Epoch
    let history: HistoryID
}

/// A request for messages that are not in memory.
public struct PageRequest: Sendable, Equatable {
    public let client: ClientID
    public let before: UInt64
    public let limit: Int
    public let history: HistoryID
    public let asOf: SequenceNumber
    public let ref: String?

    /// The most messages one page holds, and the stock number.
    public static let maxMessages = 24
    /// The most bytes one page holds (DESIGN §8).
    public static let maxBytes = 2 << 20

    public init(
        client: ClientID, before: UInt64, limit: Int, history: HistoryID, asOf: SequenceNumber, ref: String?
    ) {
        (self.client, self.before, self.limit, self.history) = (client, before, limit, history)
        (self.asOf, self.ref) = (asOf, ref)
    }
}
