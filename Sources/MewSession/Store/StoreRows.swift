public import MewIdentity
public import MewWire

/// A session's own record.
public struct SessionRow: Hashable, Sendable {
    public let id: SessionID
    /// The JSON text of a `SessionRecord`.
    public var body: [UInt8]
    /// True while a turn runs or work waits: what a restarted daemon must look at before anybody asks.
    public var isBusy: Bool

    public init(id: SessionID, body: [UInt8], isBusy: Bool) {
        self.id = id
        self.body = body
        self.isBusy = isBusy
    }
}

/// One session among all that are stored.
public struct SessionLine: Hashable, Sendable {
    public let id: SessionID
    /// Nil when it is damaged.
    public let row: SessionRow?
    /// The highest sequence number that was ever stored; 0 when there is none.
    public let head: SequenceNumber

    public init(id: SessionID, row: SessionRow?, head: SequenceNumber) {
        self.id = id
        self.row = row
        self.head = head
    }
}

/// One journalled event.
public struct EventRow: Hashable, Sendable {
    public let sequence: SequenceNumber
    /// The frame as native clients get it.
    public let body: [UInt8]

    public init(sequence: SequenceNumber, body: [UInt8]) {
        self.sequence = sequence
        self.body = body
    }
}

/// One message of the transcript.
public struct MessageRow: Hashable, Sendable {
    /// Counts from 0; `before` of the history pages indexes these.
    public let position: UInt64
    /// The journal number of its last change.
    public let sequence: SequenceNumber
    public let body: [UInt8]

    public init(position: UInt64, sequence: SequenceNumber, body: [UInt8]) {
        self.position = position
        self.sequence = sequence
        self.body = body
    }
}

/// A permission request or a question, open or settled.
public struct RequestRow: Hashable, Sendable {
    public let id: RequestID
    /// The JSON text of a `DeskEntry`, once it is settled of a `SettledRequest`.
    public let body: [UInt8]
    public let isOpen: Bool

    public init(id: RequestID, body: [UInt8], isOpen: Bool) {
        self.id = id
        self.body = body
        self.isOpen = isOpen
    }
}

/// Something that waits for its turn: a prompt, a model switch, guidance.
public struct WorkRow: Hashable, Sendable {
    /// Increasing within a session; work is done in this order.
    public let number: UInt64
    /// The JSON text of a `PendingWork`.
    public let body: [UInt8]

    public init(number: UInt64, body: [UInt8]) {
        self.number = number
        self.body = body
    }
}

/// The outcome of one operation, kept so that a repeat gets the same answer.
public struct ReceiptRow: Hashable, Sendable {
    public let device: NodeID
    public let operation: OperationID
    /// Prompts and answers stay as long as their session, others 30 days or 10,000 a device (spec/native-wire.md §3).
    public let staysWithSession: SessionID?
    public let at: WallTime
    /// SHA-256 of what was asked, to tell a repeat from a conflict.
    public let content: [UInt8]
    /// The JSON text of the `receipt` message.
    public let body: [UInt8]

    public init(
        device: NodeID, operation: OperationID, staysWithSession: SessionID?, at: WallTime, content: [UInt8],
        body: [UInt8]
    ) {
        self.device = device
        self.operation = operation
        self.staysWithSession = staysWithSession
        self.at = at
        self.content = content
        self.body = body
    }
}

/// What is known about all operations of one device.
public struct OperationBounds: Hashable, Sendable {
    /// The highest operation ever stored.
    public let highest: OperationID?
    /// The highest whose receipt was dropped. What is not above it and not found has expired.
    public let highestEvicted: OperationID?

    public init(highest: OperationID?, highestEvicted: OperationID?) {
        self.highest = highest
        self.highestEvicted = highestEvicted
    }
}

/// A device that was paired with this daemon, or was once.
public struct DeviceRow: Hashable, Sendable {
    public let node: NodeID
    public var name: String
    public var scope: Scope
    public var pairedAt: WallTime
    public var revokedAt: WallTime?
    public var revokeReason: String?
    /// SHA-256 of the token it paired with, so that a phone that repeats it is recognised.
    public var spentToken: [UInt8]?

    public init(
        node: NodeID, name: String, scope: Scope, pairedAt: WallTime,
        revokedAt: WallTime? = nil, revokeReason: String? = nil, spentToken: [UInt8]? = nil
    ) {
        self.node = node
        self.name = name
        self.scope = scope
        self.pairedAt = pairedAt
        self.revokedAt = revokedAt
        self.revokeReason = revokeReason
        self.spentToken = spentToken
    }
}

/// A group of sessions.
public struct GroupRow: Hashable, Sendable {
    public let id: GroupID
    public var name: String
    public var color: String?
    public var order: UInt32

    public init(id: GroupID, name: String, color: String?, order: UInt32) {
        self.id = id
        self.name = name
        self.color = color
        self.order = order
    }
}

/// An agent process that runs for a session.
public struct ProcessRow: Hashable, Sendable {
    public let session: SessionID
    public let process: AgentProcess

    public init(session: SessionID, process: AgentProcess) {
        self.session = session
        self.process = process
    }
}

/// Names one value among the settings: `auto_summary`, `project.pinned/home/me/app`.
public struct SettingName: Hashable, Sendable, ExpressibleByStringLiteral {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }

    public init(stringLiteral text: String) {
        self.init(text)
    }
}

/// A session as it was stored.
public struct StoredSession: Sendable {
    public let row: SessionRow
    /// The newest events without a gap, oldest first.
    public let events: [EventRow]
    /// The highest sequence number that was ever stored; 0 when there is none.
    public let headSequence: SequenceNumber
    /// How many events were found damaged and left out, near the end of the journal.
    public let lostEvents: UInt64
    /// True when the journal may have lost its end: clients must not resume, and the session starts a new epoch.
    public let isSuspect: Bool
    /// The newest messages, oldest first.
    public let messages: [MessageRow]
    /// Positions of all messages run from 0 to this.
    public let messageCount: UInt64
    /// All open requests and the newest settled ones, oldest first.
    public let requests: [RequestRow]
    /// In the order in which it is to be done.
    public let work: [WorkRow]
    /// Numbers of waiting work whose rows are damaged.
    public let lostWork: [UInt64]

    public init(
        row: SessionRow, events: [EventRow], headSequence: SequenceNumber, lostEvents: UInt64, isSuspect: Bool,
        messages: [MessageRow], messageCount: UInt64, requests: [RequestRow], work: [WorkRow],
        lostWork: [UInt64] = []
    ) {
        self.row = row
        self.events = events
        self.headSequence = headSequence
        self.lostEvents = lostEvents
        self.isSuspect = isSuspect
        self.messages = messages
        self.messageCount = messageCount
        self.requests = requests
        self.work = work
        self.lostWork = lostWork
    }
}
