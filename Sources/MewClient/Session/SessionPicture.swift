internal import MewBase
public import MewSession
public import MewWire

/// A session as it stands at one moment: what people see of it.
public struct SessionPicture: Sendable {
    /// What was said, assembled from pages and events; at most `maxMessages` and `maxBytes`, and what is still being written.
    public internal(set) var transcript: TranscriptReducer
    /// The last event that is in it.
    public internal(set) var lastSequence = SequenceNumber.zero
    public internal(set) var epoch: Epoch?
    public internal(set) var details: DaemonMessage.SessionReady?
    public internal(set) var title: String?
    /// In the order they came; at most `AttachedSession.maxRequests`.
    public internal(set) var requests: [PendingRequest] = []
    /// The running turn, as far as the daemon named it.
    public internal(set) var turn: TurnID?
    public internal(set) var isRunning = false

    /// Open requests that were not sent again yet since `session_ready`; what is still in here at `caught_up` is closed.
    var unconfirmed: Set<RequestID> = []
    /// The oldest messages were let go: no older page fits before what is left.
    private(set) var isTrimmed = false
    private var sizes = MessageSizes()

    /// A watcher that stays for months must not grow for ever; the oldest thousand go at once.
    public static let maxMessages = 10_000
    /// The same of messages of hundreds of kilobytes, in memory: 32 MiB are a day of a busy agent, and with a snapshot that is on
    /// its way still no burden to a phone. The oldest eighth goes at once.
    public static let maxBytes = 32 << 20

    init(_ id: SessionID) {
        transcript = TranscriptReducer(session: id.ulid ?? ULID(high: 0, low: 0))
    }

    /// Asks for the page before the first message; nil when there is none that would fit.
    public var olderPage: UInt64? { isTrimmed ? nil : transcript.nextCursor }

    /// What a snapshot begins with: messages, requests, numbers and the running turn are what it brings, the rest is told only when
    /// it changes.
    func anew(_ id: SessionID, epoch: Epoch?) -> SessionPicture {
        var next = SessionPicture(id)
        next.epoch = epoch
        (next.details, next.title) = (details, title)
        return next
    }

    mutating func apply(_ frame: DaemonFrame, at now: WallTime) {
        let change = transcript.apply(frame.message, sequence: frame.sequence, at: now)
        sizes.follow(change, by: frame.message, in: transcript.messages)
        trim()
    }

    private mutating func trim() {
        var excess = sizes.count > Self.maxMessages ? Self.maxMessages / 10 : 0
        if sizes.total > Self.maxBytes { excess = max(excess, sizes.excess(over: Self.maxBytes / 8 * 7)) }
        guard excess > 0 else { return }
        excess = min(excess, firstUnfinished ?? excess)
        guard excess > 0 else { return }
        transcript.removeFirst(excess)
        sizes.removeFirst(excess)
        isTrimmed = true
    }

    /// The first message that events may still change: one with an open part, or the newest answer, whose next part or end is to
    /// come. Without it they would change nothing, or begin it anew without its beginning.
    private var firstUnfinished: Int? {
        guard isRunning || transcript.streamingPart != nil else { return nil }
        let newest = transcript.messages.lastIndex { $0.role == .assistant }
        return transcript.messages.indices.first { index in
            index == newest
                || transcript.messages[index].parts.contains { $0.isOpenCall || $0.id == transcript.streamingPart }
        }
    }

    // MARK: - Requests

    /// False for what changes nothing that is visible.
    mutating func asked(_ request: Request) -> Bool {
        unconfirmed.remove(request.id)
        // What cannot be displayed cannot be answered from here.
        guard let pending = try? PendingRequest(request) else { return true }
        if let index = requests.firstIndex(where: { $0.id == request.id }) {
            // The same request again, after a replay: the visible one never changes by itself (NEEDS N-41).
            guard requests[index].digest != pending.digest else { return false }
            requests[index] = pending
            return true
        }
        requests.append(pending)
        if requests.count > AttachedSession.maxRequests { requests.removeFirst() }
        return true
    }

    mutating func forget(_ id: RequestID) {
        requests.removeAll { $0.id == id }
        unconfirmed.remove(id)
    }

    mutating func set(_ answering: PendingRequest.Answering, where isMeant: (PendingRequest) -> Bool) {
        for index in requests.indices where isMeant(requests[index]) { requests[index].answering = answering }
    }

    /// Answers that are on their way stay so over a snapshot that has the same question.
    mutating func keepAnswers(of former: [PendingRequest]) {
        for request in former { set(request.answering) { $0.id == request.id && $0.digest == request.digest } }
    }
}
