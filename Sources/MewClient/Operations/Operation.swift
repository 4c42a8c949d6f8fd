public import MewIdentity
public import MewWire

/// Something this device asked of a daemon, and how far it got (spec/native-wire.md §3).
///
///     sending ──receipt stored──▶ stored ──receipt started──▶ delivered ──receipt done──▶ settled
///        │                          │                             │
///        │ channel lost             └────────── receipt refused ──┴──────────────────────▶ refused
///        ▼
///     unknown ──receipt, or a query──▶ any of the above, or absent (it was never stored)
///
/// *Unknown* blocks a second send and is never replayed by itself; time does not leave it.
public struct Operation: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        case prompt, guide, cancel, answer
        case newSession = "new_session"
        case session, setting
    }

    public enum State: Hashable, Sendable {
        case sending
        /// Durable at the daemon.
        case stored
        /// The agent has it.
        case delivered(TurnID?)
        case settled(TurnResult?)
        case refused(ErrorCode, message: String)
        case unknown
        /// The daemon said that it never stored it.
        case absent
    }

    public let id: OperationID
    public let daemon: NodeID
    public var session: SessionID?
    public let kind: Kind
    public internal(set) var state: State
    public let begun: WallTime

    public init(
        id: OperationID, daemon: NodeID, session: SessionID?, kind: Kind, state: State = .sending, begun: WallTime
    ) {
        (self.id, self.daemon, self.session, self.kind) = (id, daemon, session, kind)
        (self.state, self.begun) = (state, begun)
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
    public mutating func received(_ receipt: DaemonMessage.Receipt) {
        guard receipt.operation == id, !isOver else { return }
        session = session ?? receipt.sessionID
        switch receipt.state {
        case .stored:
            if case .delivered = state { return }
            state = .stored
        case .started: state = .delivered(receipt.turnID)
        case .done: state = .settled(receipt.result)
        case .refused: refused(ClientError(refused: receipt))
        case .absent:
            // Only an answer to a query, and only about what has no receipt.
            if state == .unknown || state == .sending { state = .absent }
        }
    }

    mutating func refused(_ error: ClientError) {
        guard !isOver else { return }
        state = .refused(error.code, message: error.message)
    }

    /// It could not be sent, or nobody knows whether it was.
    mutating func failedToSend(_ error: ClientError) {
        if error.code.definitelyNotDone { refused(error) } else { channelLost() }
    }
}
