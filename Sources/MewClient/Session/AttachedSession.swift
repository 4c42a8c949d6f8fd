internal import MewBase
public import MewIdentity
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
///
/// A snapshot is gathered beside what is shown and replaces it in one step, at `caught_up`; a replay is shown as it comes.
public struct AttachedSession: Sendable {
    public enum Phase: Sendable, Hashable {
        case attaching
        case replaying
        case live
        /// The channel is gone, and why; it is attached again as soon as the link is back. What was shown stays.
        case lost(ClientError)
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
    /// Who may type. The daemon says it whenever the session has become live, so that it is known only while it is.
    public private(set) var lease = InputLease.unknown
    /// What people see.
    public private(set) var shown: SessionPicture
    /// A snapshot that is on its way; nil when there is none.
    private var arriving: SessionPicture?

    /// Ours, to know our own lease.
    private let device: NodeID?
    private var isResuming = false
    private var askedPages = AskedPages()
    private var echoes = OwnEchoes()

    /// A daemon asks a few at once; more than this is a daemon gone wrong, and the oldest give way.
    public static let maxRequests = 64

    /// - Parameter device: the node ID of this device.
    public init(id: SessionID, device: NodeID? = nil) {
        (self.id, self.device) = (id, device)
        shown = SessionPicture(id)
    }

    // MARK: - What is shown

    public var transcript: TranscriptReducer { shown.transcript }
    public var details: DaemonMessage.SessionReady? { shown.details }
    public var title: String? { shown.title }
    public var requests: [PendingRequest] { shown.requests }
    public var turn: TurnID? { shown.turn }
    public var isRunning: Bool { shown.isRunning }
    /// The next `before` of an older page; nil when the start is here.
    public var historyCursor: UInt64? { shown.olderPage }
    public var historyID: HistoryID? { shown.transcript.history }

    // MARK: - What is known

    /// The last event this client has, shown or not yet.
    public var lastSequence: SequenceNumber { arriving?.lastSequence ?? shown.lastSequence }
    public var epoch: Epoch? { arriving.map(\.epoch) ?? shown.epoch }

    /// Changes what is being brought up to date. In place: a transcript is not copied for every frame.
    private mutating func edit<Value>(_ change: (inout SessionPicture) -> Value) -> Value {
        if var picture = arriving.take() {
            defer { arriving = picture }
            return change(&picture)
        }
        return change(&shown)
    }

    /// Also what is shown while something else arrives.
    private mutating func editAll(_ change: (inout SessionPicture) -> Void) {
        change(&shown)
        if arriving != nil { edit(change) }
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
        guard case .lost = phase else { return false }
        return endings <= Self.maxEndings
    }

    /// A stock daemon sends no history of a session it has just made.
    mutating func startedOnStock() -> [Effect] { enter(.live) }

    /// What is shown stays; a snapshot that was on its way is not there.
    public mutating func channelLost(_ reason: ClientError) -> [Effect] {
        guard phase != .gone else { return [] }
        isResuming = false
        (arriving, askedPages) = (nil, AskedPages())
        shown.set(.open) { _ in true }
        return enter(.lost(reason))
    }

    public mutating func sessionGone() -> [Effect] {
        arriving = nil
        shown.requests = []
        return enter(.gone)
    }

    private mutating func enter(_ next: Phase) -> [Effect] {
        guard phase != next else { return [] }
        phase = next
        if next == .live { endings = 0 } else { lease = .unknown }
        return [.phaseChanged(next)]
    }

    // MARK: - Frames

    /// - Parameters:
    ///   - isNative: stock links have no `caught_up`; there the history ends the replay.
    ///   - now: for messages whose time their event does not tell.
    public mutating func receive(_ frame: DaemonFrame, isNative: Bool, now: WallTime) -> [Effect] {
        let effects = decide(frame, isNative: isNative)
        guard effects.contains(.accept(frame)) else { return effects }
        edit { $0.apply(frame, at: now) }
        if case .leaseState(let state) = frame.message, state.kind == .input, state.target == id.text {
            lease.told(state.holder, device: device, at: now)
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
        case .sessionReady(let ready): return readied(ready, frame, isNative: isNative)
        case .sessionHistoryPage(let page): return history(page, frame, isNative: isNative)
        case .sessionHistory: return [.accept(frame)] + (isNative ? [] : enter(.live))
        case .caughtUp(let end): return caughtUp(end, frame)
        case .gap:
            isResuming = false  // what we asked for before it came is not coming any more
            return resume()
        case .request(let request): return edit { $0.asked(request) } ? [.accept(frame)] : []
        case .requestResolved(let resolved):
            edit { $0.forget(resolved.requestID) }
            return [.accept(frame)]
        case .answerVerdict(let verdict): return judged(verdict, frame)
        case .sessionActivityChanged(let change): return activity(change, frame)
        case .error:
            // A page that was refused may be asked for again.
            if let ref = frame.ref { _ = askedPages.take(ref) }
            return [.accept(frame)]
        case .sessionTitleChanged(let change):
            edit { $0.title = change.title }
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
        edit { $0.lastSequence = sequence }
        isResuming = false
        return .fresh
    }

    /// Asks once; what arrives until the answer is beyond the hole and will come again.
    private mutating func resume() -> [Effect] {
        guard !isResuming else { return [] }
        isResuming = true
        restartSnapshot()
        return enter(.replaying) + [.resume(after: lastSequence)]
    }

    /// Events do not complete a snapshot: its page names the last event, but the part that is open and the requests come after it,
    /// without numbers. What was shown goes on, or the snapshot is asked for again from nothing.
    private mutating func restartSnapshot() {
        guard let snapshot = arriving else { return }
        arriving = shown.epoch == snapshot.epoch ? nil : shown.anew(id, epoch: snapshot.epoch)
    }

    private mutating func readied(
        _ ready: DaemonMessage.SessionReady, _ frame: DaemonFrame, isNative: Bool
    ) -> [Effect] {
        isResuming = false
        // Numbers of another epoch mean something else.
        let startsAnew = ready.epoch != epoch || ready.resume == .new || ready.resume == .snapshot
        // A stock daemon does not say when a snapshot is complete; its history comes in one message.
        if startsAnew, isNative { arriving = shown.anew(id, epoch: ready.epoch) }
        edit { picture in
            picture.details = ready
            picture.unconfirmed = Set(picture.requests.map(\.id))
        }
        return enter(.replaying) + [.accept(frame)]
    }

    private mutating func history(
        _ page: DaemonMessage.SessionHistoryPage, _ frame: DaemonFrame, isNative: Bool
    ) -> [Effect] {
        let asked = askedPages.take(frame.ref)
        guard page.replaces else { return fits(page, asked) ? [.accept(frame)] : [] }
        isResuming = false
        if let sequence = page.asOfSequence { edit { $0.lastSequence = sequence } }
        return [.accept(frame)] + (isNative ? [] : enter(.live))
    }

    private mutating func caughtUp(_ end: DaemonMessage.CaughtUp, _ frame: DaemonFrame) -> [Effect] {
        guard end.sequence <= lastSequence else {
            return resume()  // something in between was lost: not caught up at all
        }
        edit { picture in
            picture.requests.removeAll { picture.unconfirmed.contains($0.id) }
            picture.unconfirmed = []
        }
        if var arrived = arriving.take() {
            arrived.keepAnswers(of: shown.requests)
            shown = arrived
        }
        return [.accept(frame)] + enter(.live)
    }

    // MARK: - Older pages

    /// A page before what is shown was asked for; its answer carries `ref`.
    mutating func pageAsked(before: UInt64, ref: String) {
        askedPages.add(before: before, ref: ref)
    }

    /// Only the page before the first message fits there: not one that was under way when the list was cleared or replaced, and
    /// not one that is here already.
    private mutating func fits(_ page: DaemonMessage.SessionHistoryPage, _ asked: UInt64?) -> Bool {
        guard let asked else { return false }
        return edit { $0.olderPage == asked && (page.historyID == nil || page.historyID == $0.transcript.history) }
    }

    // MARK: - Requests

    private mutating func judged(_ verdict: DaemonMessage.AnswerVerdict, _ frame: DaemonFrame) -> [Effect] {
        switch verdict.outcome {
        case .settled, .repeated, .tooLate, .unknown:
            editAll { $0.forget(verdict.requestID) }
        case .notWhatWasShown:
            // The daemon asks about something else: the request it sends (again) is the one to look at.
            editAll { $0.set(.open) { $0.id == verdict.requestID } }
        }
        return [.accept(frame)]
    }

    /// An answer is on its way; the request stays visible until the verdict comes (NEEDS N-40).
    public mutating func answering(_ id: RequestID, with operation: OperationID) {
        editAll { $0.set(.sending(operation)) { $0.id == id } }
    }

    /// The answer `operation` came to nothing: the request can be answered again.
    mutating func notAnswered(_ operation: OperationID) {
        editAll { $0.set(.open) { $0.answering == .sending(operation) } }
    }

    // MARK: - Turns

    private mutating func activity(_ change: DaemonMessage.SessionActivityChanged, _ frame: DaemonFrame) -> [Effect] {
        switch change.activity {
        case .running:
            edit { ($0.isRunning, $0.turn) = (true, change.turnID) }
            return [.accept(frame)]
        case .idle, .active:
            edit { picture in
                (picture.isRunning, picture.turn) = (false, nil)
                // A stock daemon does not say that a cancelled turn closed its requests (spec/mew-wire.md §4.6).
                if picture.epoch == nil { picture.requests = [] }
            }
            return [.accept(frame), .turnEnded]
        }
    }

    // MARK: - Own echo

    /// A prompt was sent over a stock link; its echo will carry the same text.
    public mutating func sent(text: String) { echoes.sent(text) }

    /// Whether a `user_message` of a stock link is our own; each echo counts once.
    public mutating func isEcho(_ text: String) -> Bool { echoes.take(text) }
}
