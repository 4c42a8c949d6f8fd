public import MewBase
import MewWire

/// Gathers the pieces of streaming text that an agent tells, so that a model that speaks in syllables does not cost an event, a
/// line on the disk and a frame to every client each (DESIGN §8: 16 ms).
///
/// The first piece of a text is told at once, because somebody waits for it; what comes in the 16 ms after a piece was told is
/// one. Only pieces that follow each other are gathered: text of one part and field, or output of one call.
///
/// Pure value: feed it with `add`, tell what it returns, ask `due` at `nextDeadline`, and `flush` before anything else happens to
/// the session.
///
///     quiet ──piece: told──► pausing (16 ms) ──piece: kept──► gathering ──16 ms: told──► pausing
///       ▲                        │ 16 ms                          │ 64 KiB: told, and gathering goes on
///       └────────────────────────┴─── another text, anything else: what was gathered is told
public struct PieceGatherer: Sendable {
    /// One frame of a screen of 60 Hz: nobody sees pieces that are closer.
    public static let gather = Duration.milliseconds(16)
    /// One read of a pipe.
    public static let maxBytes = 64 << 10

    private struct Gathered: Sendable {
        var event: AgentEvent
        var bytes: Int
    }

    private enum State: Sendable {
        case quiet
        /// A piece of this text was told.
        case pausing(after: AgentEvent, until: Instant)
        case gathering(Gathered, until: Instant)
    }

    private var state = State.quiet

    public init() {}

    public var isEmpty: Bool { nextDeadline == nil }

    /// When `due` has something to tell; nil while nothing is gathered.
    public var nextDeadline: Instant? {
        if case .gathering(_, let until) = state { until } else { nil }
    }

    /// Takes an event in, and returns what is to be told now, in order: nothing while it is gathered, at most what was gathered
    /// before and the event itself.
    public mutating func add(_ event: AgentEvent, now: Instant) -> [AgentEvent] {
        guard let bytes = event.gatheredBytes, bytes <= Self.maxBytes else { return flush() + [event] }
        switch state {
        case .pausing(let last, let until) where now < until && last.joined(with: event) != nil:
            state = .gathering(Gathered(event: event, bytes: bytes), until: until)
            return []
        case .gathering(let gathered, let until):
            guard let sum = gathered.event.joined(with: event) else { break }
            guard gathered.bytes + bytes > Self.maxBytes else {
                state = .gathering(Gathered(event: sum, bytes: gathered.bytes + bytes), until: until)
                return []
            }
            state = .gathering(Gathered(event: event, bytes: bytes), until: now.advanced(by: Self.gather))
            return [gathered.event]
        case .quiet, .pausing: break
        }
        let before = flush()
        state = .pausing(after: event, until: now.advanced(by: Self.gather))
        return before + [event]
    }

    /// What was gathered, when its time has come.
    public mutating func due(now: Instant) -> [AgentEvent] {
        guard case .gathering(let gathered, let until) = state, until <= now else { return [] }
        state = .pausing(after: gathered.event, until: now.advanced(by: Self.gather))
        return [gathered.event]
    }

    /// What was gathered, at once: something else happens.
    public mutating func flush() -> [AgentEvent] {
        defer { state = .quiet }
        guard case .gathering(let gathered, _) = state else { return [] }
        return [gathered.event]
    }
}

extension AgentEvent {
    /// The size of a piece that is text to append; nil for everything else, also for a piece that replaces.
    fileprivate var gatheredBytes: Int? {
        switch self {
        case .provider(.partDelta(let delta)): delta.field == "signature" ? nil : delta.delta.utf8.count
        case .toolProgress(_, let chunk): chunk.utf8.count
        case .provider, .partUpdated, .toolStarted, .toolEnded, .toolResults, .notice, .error, .todos, .changes,
            .flaggedFiles, .usage, .personaSwitchRequested, .job, .subagentStarted, .subagentStatus, .subagentEnded:
            nil
        }
    }

    /// Both pieces as one; nil when they do not belong together.
    fileprivate func joined(with next: AgentEvent) -> AgentEvent? {
        switch (self, next) {
        case (.provider(.partDelta(var delta)), .provider(.partDelta(let more))):
            guard delta.partID == more.partID, delta.field == more.field else { return nil }
            delta.delta += more.delta
            return .provider(.partDelta(delta))
        case (.toolProgress(let call, let chunk), .toolProgress(let other, let more)):
            return call == other ? .toolProgress(call, chunk: chunk + more) : nil
        default:
            return nil
        }
    }
}
