internal import MewBase
public import MewSession
public import MewWire

/// One session this client is attached to: what it knows of it, and the rules by which that changes.
///
/// Pure value. Feed it every frame of the session in order; it drops what it had already, and says what is to be done.
/// Between `session_ready` and `caught_up` nothing is live.
///
///     attaching ──session_ready──▶ replaying ──caught_up──▶ live ──gap──▶ replaying
///         ▲                             │                    │
///         └────────── link is back ── lost ◀── link is gone ─┘        gone: the session is no more
public struct AttachedSession: Sendable {
    public enum Phase: Sendable, Hashable {
        case attaching
        case replaying
        case live
        /// The channel is gone; it is attached again as soon as the link is back.
        case lost
        /// The daemon does not know the session (any more).
        case gone
    }

    public enum Effect: Sendable, Equatable {
        /// New to this client, in order.
        case accept(DaemonFrame)
        case phaseChanged(Phase)
        /// Ask for what is missing after this number, on the same channel.
        case resume(after: SequenceNumber)
        /// A turn is over: operations that wait for it may ask how it ended.
        case turnEnded
    }

    public let id: SessionID
    public private(set) var phase = Phase.attaching
    /// What was said, assembled from pages and events; at most `maxMessages`.
    public private(set) var transcript: TranscriptReducer
    /// The last event this client has.
    public private(set) var lastSequence = SequenceNumber.zero
    public private(set) var epoch: Epoch?
    public private(set) var details: DaemonMessage.SessionReady?
    public private(set) var title: String?
    /// In the order they came; at most `maxRequests`.
    public private(set) var requests: [PendingRequest] = []
    /// The running turn, as far as the daemon named it.
    public private(set) var turn: TurnID?
    public private(set) var isRunning = false
    /// The next `before` of an older page; nil when the start is here.
    public private(set) var historyCursor: UInt64?
    public private(set) var historyID: HistoryID?

    /// Open requests that were not sent again yet since `session_ready`; what is still in here at `caught_up` is closed.
    private var unconfirmed: Set<RequestID> = []
    private var isResuming = false
    /// Text of our own prompts whose echo is still to come; stock links only (spec/mew-wire.md §5.5).
    private var ownTexts: [String] = []

    /// A daemon asks a few at once; more than this is a daemon gone wrong, and the oldest give way.
    public static let maxRequests = 64
    /// A watcher that stays for months must not grow for ever; the oldest thousand go at once.
    public static let maxMessages = 10_000
    private static let maxOwnTexts = 16

    public init(id: SessionID) {
        self.id = id
        transcript = TranscriptReducer(session: id.ulid ?? ULID(high: 0, low: 0))
    }

    // MARK: - Life of the channel

    public mutating func attachingAgain() -> [Effect] { enter(.attaching) }

    /// How often the daemon ended the channel without the session having been live in between.
    private var endings = 0
    /// A daemon that ends every channel at once does not want us there; the next connection tries again.
    private static let maxEndings = 3

    /// Whether to attach again over the same link after the daemon ended the channel.
    mutating func mayReattach() -> Bool {
        endings += 1
        return phase == .lost && endings <= Self.maxEndings
    }

    /// A stock daemon sends no history of a session it has just made.
    mutating func startedOnStock() -> [Effect] { enter(.live) }

    public mutating func channelLost() -> [Effect] {
        guard phase != .gone else { return [] }
        isResuming = false
        for index in requests.indices { requests[index].answering = .open }
        return enter(.lost)
    }

    public mutating func sessionGone() -> [Effect] {
        requests = []
        return enter(.gone)
    }

    private mutating func enter(_ next: Phase) -> [Effect] {
        guard phase != next else { return [] }
        phase = next
        if next == .live { endings = 0 }
        return [.phaseChanged(next)]
    }

    // MARK: - Frames

    /// - Parameters:
    ///   - isNative: stock links have no `caught_up`; there the history ends the replay.
    ///   - now: for messages whose time their event does not tell.
    public mutating func receive(_ frame: DaemonFrame, isNative: Bool, now: WallTime) -> [Effect] {
        let effects = decide(frame, isNative: isNative)
        if effects.contains(.accept(frame)) {
            transcript.apply(frame.message, sequence: frame.sequence, at: now)
            if transcript.messages.count > Self.maxMessages { transcript.removeFirst(Self.maxMessages / 10) }
        }
        return effects
    }

    private mutating func decide(_ frame: DaemonFrame, isNative: Bool) -> [Effect] {
        switch admit(frame) {
        case .duplicate: return []
        case .hole: return resume()
        case .fresh: break
        }
        switch frame.message {
        case .sessionReady(let ready): return readied(ready, frame)
        case .sessionHistoryPage(let page): return history(page, frame, isNative: isNative)
        case .sessionHistory: return [.accept(frame)] + (isNative ? [] : enter(.live))
        case .caughtUp(let end): return caughtUp(end, frame)
        case .gap:
            isResuming = false  // what we asked for before it came is not coming any more
            return resume()
        case .request(let request): return asked(request, frame)
        case .requestResolved(let resolved):
            forget(resolved.requestID)
            return [.accept(frame)]
        case .answerVerdict(let verdict): return judged(verdict, frame)
        case .sessionActivityChanged(let change): return activity(change, frame)
        case .sessionTitleChanged(let change):
            title = change.title
            return [.accept(frame)]
        default: return [.accept(frame)]
        }
    }

    private enum Admission { case fresh, duplicate, hole }

    /// Clients advance only by `seq` (spec/native-wire.md §1): what is behind was seen, what is too far ahead shows a hole.
    private mutating func admit(_ frame: DaemonFrame) -> Admission {
        guard let sequence = frame.sequence else { return .fresh }
        guard sequence > lastSequence else { return .duplicate }
        guard sequence == lastSequence.next else { return .hole }
        lastSequence = sequence
        isResuming = false
        return .fresh
    }

    /// Asks once; what arrives until the answer is beyond the hole and will come again.
    private mutating func resume() -> [Effect] {
        guard !isResuming else { return [] }
        isResuming = true
        return enter(.replaying) + [.resume(after: lastSequence)]
    }

    private mutating func readied(_ ready: DaemonMessage.SessionReady, _ frame: DaemonFrame) -> [Effect] {
        // Numbers of another epoch mean something else.
        if ready.epoch != epoch || ready.resume == .new { lastSequence = .zero }
        epoch = ready.epoch
        isResuming = false
        details = ready
        unconfirmed = Set(requests.map(\.id))
        return enter(.replaying) + [.accept(frame)]
    }

    private mutating func history(
        _ page: DaemonMessage.SessionHistoryPage, _ frame: DaemonFrame, isNative: Bool
    ) -> [Effect] {
        historyCursor = page.nextCursor
        historyID = page.historyID ?? historyID
        guard page.replaces else { return [.accept(frame)] }
        isResuming = false
        if let sequence = page.asOfSequence { lastSequence = sequence }
        return [.accept(frame)] + (isNative ? [] : enter(.live))
    }

    private mutating func caughtUp(_ end: DaemonMessage.CaughtUp, _ frame: DaemonFrame) -> [Effect] {
        guard end.sequence <= lastSequence else {
            return resume()  // something in between was lost: not caught up at all
        }
        requests.removeAll { unconfirmed.contains($0.id) }
        unconfirmed = []
        return [.accept(frame)] + enter(.live)
    }

    // MARK: - Requests

    private mutating func asked(_ request: Request, _ frame: DaemonFrame) -> [Effect] {
        unconfirmed.remove(request.id)
        guard let pending = try? PendingRequest(request) else {
            return [.accept(frame)]  // cannot be displayed, so it cannot be answered from here
        }
        if let index = requests.firstIndex(where: { $0.id == request.id }) {
            // The same request again, after a replay: the visible one never changes by itself (NEEDS N-41).
            guard requests[index].digest != pending.digest else { return [] }
            requests[index] = pending
            return [.accept(frame)]
        }
        requests.append(pending)
        if requests.count > Self.maxRequests { requests.removeFirst() }
        return [.accept(frame)]
    }

    private mutating func forget(_ id: RequestID) {
        requests.removeAll { $0.id == id }
        unconfirmed.remove(id)
    }

    private mutating func judged(_ verdict: DaemonMessage.AnswerVerdict, _ frame: DaemonFrame) -> [Effect] {
        switch verdict.outcome {
        case .settled, .repeated, .tooLate, .unknown:
            forget(verdict.requestID)
        case .notWhatWasShown:
            // The daemon asks about something else: the request it sends (again) is the one to look at.
            if let index = requests.firstIndex(where: { $0.id == verdict.requestID }) {
                requests[index].answering = .open
            }
        }
        return [.accept(frame)]
    }

    /// An answer is on its way; the request stays visible until the verdict comes (NEEDS N-40).
    public mutating func answering(_ id: RequestID, with operation: OperationID) {
        guard let index = requests.firstIndex(where: { $0.id == id }) else { return }
        requests[index].answering = .sending(operation)
    }

    /// The answer `operation` came to nothing: the request can be answered again.
    mutating func notAnswered(_ operation: OperationID) {
        for index in requests.indices where requests[index].answering == .sending(operation) {
            requests[index].answering = .open
        }
    }

    // MARK: - Turns

    private mutating func activity(_ change: DaemonMessage.SessionActivityChanged, _ frame: DaemonFrame) -> [Effect] {
        switch change.activity {
        case .running:
            isRunning = true
            turn = change.turnID
            return [.accept(frame)]
        case .idle, .active:
            isRunning = false
            turn = nil
            // A stock daemon does not say that a cancelled turn closed its requests (spec/mew-wire.md §4.6).
            if epoch == nil { requests = [] }
            return [.accept(frame), .turnEnded]
        }
    }

    // MARK: - Own echo

    /// A prompt was sent over a stock link; its echo will carry the same text.
    public mutating func sent(text: String) {
        ownTexts.append(text)
        if ownTexts.count > Self.maxOwnTexts { ownTexts.removeFirst() }
    }

    /// Whether a `user_message` of a stock link is our own; each echo counts once.
    public mutating func isEcho(_ text: String) -> Bool {
        guard let index = ownTexts.firstIndex(of: text) else { return false }
        ownTexts.remove(at: index)
        return true
    }
}
