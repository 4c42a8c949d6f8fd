public import MewIdentity
public import MewWire

/// Something this device asked of a daemon, and how far it got (spec/native-wire.md §3).
///
///     sending ──receipt stored──▶ stored ──receipt started──▶ delivered ──receipt done──▶ settled
///        │                          │                             │
///        │ channel lost             └────────── receipt refused ──┴──────────────────────▶ refused
///        ▼
///     unknown ──any receipt──▶ one of the above
///        ├─────a query that settles finds nothing──▶ absent
///        └─────a person sends it again, as it was──▶ sending
///
/// *Unknown* blocks a second send of the same words and is never replayed by itself; time does not leave it. That the daemon does not have it
/// *now* does not leave it either: the original may still be on its way, held in a stream nobody reads or in a process that is
/// stopped. Only a query that settles makes the late original impossible, and so ends it.
public struct Operation: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        case prompt, guide, cancel, answer
        case newSession = "new_session"
        case session, setting
    }

    public enum State: Hashable, Sendable {
        case sending
        /// Durable at the daemon; the turn that a prompt will be.
        case stored(TurnID?)
        /// The agent has it.
        case delivered(TurnID?)
        case settled(TurnResult?)
        case refused(ErrorCode, message: String)
        case unknown
        /// The daemon never stored it and never will: it was asked to settle it.
        case absent

        /// The turn of a prompt that waits or runs, once a receipt has named it.
        public var turn: TurnID? {
            switch self {
            case .stored(let turn), .delivered(let turn): turn
            case .sending, .settled, .refused, .unknown, .absent: nil
            }
        }
    }

    public let id: OperationID
    public let daemon: NodeID
    public var session: SessionID?
    public let kind: Kind
    public internal(set) var state: State {
        didSet { if !mayNeedContent { content = nil } }
    }
    public let begun: WallTime
    /// Which run of a program sent it last; nil in records of earlier versions, whose programs have ended.
    public private(set) var instance: ClientInstance?
    /// What it said, while it may have to be sent again; nil as well when that was too much, or went to no session.
    public private(set) var content: OperationContent?
    /// The draft it was made from.
    public let draft: DraftRevision?
    /// More than one of it may be on the way.
    private var isSentAgain = false

    public init(
        id: OperationID, daemon: NodeID, session: SessionID?, kind: Kind, state: State = .sending, begun: WallTime,
        instance: ClientInstance? = nil, content: OperationContent? = nil, draft: DraftRevision? = nil
    ) {
        (self.id, self.daemon, self.session, self.kind) = (id, daemon, session, kind)
        (self.state, self.begun, self.instance) = (state, begun, instance)
        (self.content, self.draft) = (content, draft)
    }

    private var mayNeedContent: Bool {
        switch state {
        case .sending, .unknown: true
        case .stored, .delivered, .settled, .refused, .absent: false
        }
    }

    /// The daemon has it.
    var hasArrived: Bool {
        switch state {
        case .stored, .delivered, .settled: true
        case .sending, .unknown, .refused, .absent: false
        }
    }

    /// Whether it is further than another copy of the same operation: what has arrived is not unknown again.
    func isAhead(of other: Operation) -> Bool { stage > other.stage }

    private var stage: Int {
        switch state {
        case .sending, .unknown: 0
        case .stored: 1
        case .delivered: 2
        case .settled, .refused, .absent: 3
        }
    }

    /// Nothing more will be heard about it.
    public var isOver: Bool {
        switch state {
        case .settled, .refused, .absent: true
        case .sending, .stored, .delivered, .unknown: false
        }
    }

    /// The channel it was sent on is gone. What has a receipt keeps it; what has none is unknown.
    public mutating func channelLost() {
        switch state {
        case .sending: state = .unknown
        case .stored, .delivered, .settled, .refused, .unknown, .absent: break
        }
    }

    /// Moves on by what the daemon says. Receipts of one operation may arrive twice and, after a reconnect, out of order: it
    /// never goes back.
    ///
    /// - Parameter isSettled: it answers a query of ours that settles. Any other absence is about this moment only.
    public mutating func received(_ receipt: DaemonMessage.Receipt, isSettled: Bool = false) {
        guard receipt.operation == id, !isOver else { return }
        session = session ?? receipt.sessionID
        switch receipt.state {
        case .stored:
            if case .delivered = state { return }
            state = .stored(receipt.turnID ?? state.turn)
        case .started: state = .delivered(receipt.turnID ?? state.turn)
        case .done: state = .settled(receipt.result)
        case .refused: refused(ClientError(refused: receipt))
        case .absent:
            // What is being sent may be behind the question; what has a receipt was stored.
            if isSettled, state == .unknown { state = .absent }
        }
    }

    mutating func refused(_ error: ClientError) {
        guard !isOver else { return }
        state = .refused(error.code, message: error.message)
    }

    /// It could not be sent, or the daemon could not keep it, or nobody knows: a disk that failed may have. It says nothing of what
    /// was sent before and may still arrive.
    mutating func failed(_ error: ClientError) {
        if error.code.definitelyNotDone, !isSentAgain { refused(error) } else { channelLost() }
    }

    /// Only what is unknown can be sent again: the daemon takes it once, however often it comes.
    mutating func sentAgain(by instance: ClientInstance) {
        guard state == .unknown else { return }
        (state, self.instance, isSentAgain) = (.sending, instance, true)
    }
}
