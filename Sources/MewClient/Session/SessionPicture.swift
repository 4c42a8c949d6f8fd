internal import MewBase
public import MewSession
public import MewWire

/// A session as it stands at one moment: what people see of it.
public struct SessionPicture: Sendable {
    /// What was said, assembled from pages and events; at most `AttachedSession.maxMessages`.
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
        transcript.apply(frame.message, sequence: frame.sequence, at: now)
        guard transcript.messages.count > AttachedSession.maxMessages else { return }
        transcript.removeFirst(AttachedSession.maxMessages / 10)
        isTrimmed = true
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
