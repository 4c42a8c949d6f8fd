public import MewWire

/// What a running turn may ask of its session. All of it is stored before it takes effect, and before anybody hears of it.
///
/// Every call may throw `cancelled` once the turn is cancelled, and `gone` when it is over; the agent then winds up and
/// returns. The calls of one turn are made one after the other, or concurrently when the agent works on several things;
/// events keep the order of the calls.
public protocol AgentHost: Sendable {
    /// New identifiers for messages and parts, in increasing order.
    var ids: any IDSource { get }

    /// The wall clock, for the times that parts carry.
    var now: WallTime { get }

    /// Tells the session what happened. Returns when it is stored; for a piece of streaming text (`AgentEvent.isPiece`) at once, as
    /// long as the disk is not far behind: an agent that writes faster than the disk waits here. Pieces of one text that come
    /// within 16 ms after one become one event.
    func emit(_ event: AgentEvent) async throws(AgentHostError)

    /// Asks whether a tool may run. Answers at once when the session's mode, or an earlier answer, allows it.
    func requestPermission(_ request: ToolPermission) async throws(AgentHostError) -> PermissionVerdict

    /// Asks whether a path outside the session's directory may be used.
    func requestWorkspacePermission(path: String) async throws(AgentHostError) -> PermissionVerdict

    /// Puts one to four questions to people; one answer for each, by position.
    func ask(_ questions: [Question], call: CallID) async throws(AgentHostError) -> [String]

    func requestPlanApproval(_ plan: ProposedPlan, call: CallID) async throws(AgentHostError) -> PlanVerdict

    /// Proposes a goal; true when it is accepted.
    func proposeGoal(_ objective: String, call: CallID) async throws(AgentHostError) -> Bool

    /// Takes the guidance that came since the last call, for the next request to the model.
    func takeGuidance() async throws(AgentHostError) -> [String]

    /// Records a process that was started for the session, so that no second one is started while it may live, also after a
    /// crash of the daemon. The process must not act before this returns: start it stopped at a gate, record it, open the gate.
    ///
    /// Throws `processRunning` when another one is recorded.
    func willStart(_ process: AgentProcess) async throws(AgentHostError)

    /// The recorded process is gone.
    func didEnd(_ process: AgentProcess) async throws(AgentHostError)
}

/// Why the host did not do it.
public enum AgentHostError: Error, Hashable, Sendable {
    /// The turn was cancelled: stop, and return `cancelled`.
    case cancelled
    /// The turn is over.
    case gone
    /// The event is larger than `AgentEvent.maxBytes`, or the request with the text that people are shown larger than
    /// `RequestDesk.maxRequestBytes`; nothing was stored.
    case tooLarge(bytes: Int)
    /// The session already has a process on record.
    case processRunning(AgentProcess)
    /// More requests are open than people can answer, or larger ones than they can be shown.
    case tooManyRequests
}

/// What a tool wants to do, for the question whether it may.
public struct ToolPermission: Sendable {
    /// How much harm a tool can do (spec/mew-wire.md §4.13).
    public enum Sensitivity: Hashable, Sendable {
        /// Looks only; runs in every mode.
        case readOnly
        /// Changes files of the workspace; asks in `standard`.
        case mutating
        /// Runs commands; asks in every mode but `dangerous`.
        case dangerous
    }

    public let toolName: String
    public let input: JSON
    public let call: CallID
    public let sensitivity: Sensitivity
    /// Set for a tool of a subagent: the call that started it.
    public let parentCall: CallID?

    public init(
        toolName: String, input: JSON, call: CallID, sensitivity: Sensitivity, parentCall: CallID? = nil
    ) {
        (self.toolName, self.input, self.call) = (toolName, input, call)
        (self.sensitivity, self.parentCall) = (sensitivity, parentCall)
    }
}

/// Whether it may, and who said so.
public enum PermissionVerdict: Hashable, Sendable {
    /// The session's mode, or an earlier answer "for the session".
    case allowedByMode
    case allowed(by: By?)
    case denied(by: By?)

    public var isAllowed: Bool {
        switch self {
        case .allowedByMode, .allowed: true
        case .denied: false
        }
    }
}

public struct ProposedPlan: Hashable, Sendable {
    public var path: String
    public var markdown: String
    /// Who would carry it out.
    public var persona: String

    public init(path: String, markdown: String, persona: String) {
        (self.path, self.markdown, self.persona) = (path, markdown, persona)
    }
}

public enum PlanVerdict: Hashable, Sendable {
    case approved
    case rejected(feedback: String?)
}
