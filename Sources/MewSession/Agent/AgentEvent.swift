public import MewWire

/// What an agent tells its session. Each becomes one event of the journal, except where a case says otherwise.
///
/// The order within a tool call is that of spec/mew-wire.md §4.5; all parts of one answer carry the same message ID.
public enum AgentEvent: Sendable {
    /// A raw event of the model's answer. Parts start with it and live in the message whose ID they carry.
    case provider(ProviderEvent)
    /// Replaces a part whole.
    case partUpdated(Part)
    case toolStarted(CallID)
    /// Output to append to the running tool part of that call.
    case toolProgress(CallID, chunk: String)
    case toolEnded(CallID, success: Bool)
    /// Adds the `user` message that holds the results of the calls. Kept in the transcript; clients are not told.
    case toolResults([CallID])
    /// Something to show in the conversation that is no answer of the model.
    case notice(String)
    /// The turn will count as failed; shown like a notice.
    case error(String)
    case todos([Todo])
    /// Lines changed since the last of these; the session adds them up.
    case changes(ChangeStats)
    /// The full list.
    case flaggedFiles([FlaggedFile])
    /// Tokens and cost to add to the session's, and how full the context is. Clients are told at the end of the turn.
    case usage(SessionUsage, contextTokens: UInt64?)
    /// The next turn is to have this persona.
    case personaSwitchRequested(String)
    case job(id: String, command: String, state: String)
    case subagentStarted(parent: CallID, name: String, child: SessionID, displayName: String?)
    case subagentStatus(parent: CallID, toolName: String, message: String)
    case subagentEnded(parent: CallID, child: SessionID, outcome: SubagentOutcome, manifests: [TurnManifest])

    /// A piece of text that is being streamed: it only shows, and nothing depends on it.
    public var isPiece: Bool {
        switch self {
        case .provider(.partDelta), .toolProgress: true
        case .provider, .partUpdated, .toolStarted, .toolEnded, .toolResults, .notice, .error, .todos, .changes,
            .flaggedFiles, .usage, .personaSwitchRequested, .job, .subagentStarted, .subagentStatus, .subagentEnded:
            false
        }
    }

    /// The largest event, encoded. Leaves room below the 8 MiB that no frame may exceed (spec/mew-wire.md §1.4).
    public static let maxBytes = 4 << 20
}
