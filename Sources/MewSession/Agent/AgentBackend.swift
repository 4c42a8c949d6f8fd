public import MewWire

/// A kind of agent that can work for sessions: the shell agent, an ACP agent, a scripted one in tests.
///
/// One value serves all its sessions. It keeps no state that must survive: what does is told to the `AgentHost`.
public protocol AgentBackend: Sendable {
    /// What devices see and pick: `shell`. Never a command line.
    var name: String { get }

    /// Models that sessions with this agent can switch to; empty when there is nothing to choose.
    var models: [ModelInfo] { get }

    /// The model of a new session; nil when there is nothing to choose.
    var defaultModel: ModelName? { get }

    /// How much a new session thinks, by the name of a variant of its model; nil is off.
    var defaultThinkingVariant: String? { get }

    /// Ways of working that sessions with this agent can take on; empty when there is nothing to choose.
    var personas: [AgentPersona] { get }

    /// Runs one turn to its end and says how it ended.
    ///
    /// Called in a task of the session's loop, for one turn per session at a time. Cancelling that task cancels the turn: the
    /// agent then stops what it started, finishes its open parts if it can and returns `cancelled`. When it returns, no
    /// process that it started for this turn is left running, except one it keeps for the session and recorded with the host.
    func run(_ turn: AgentTurn, host: any AgentHost) async -> AgentResult

    /// The session's context is forgotten (`/clear`). A process that holds it must be gone when this returns.
    func forget(_ session: SessionID) async

    /// Shortens the session's context now (`/compact`); false when this agent cannot.
    func compact(_ session: SessionID, host: any AgentHost) async -> Bool
}

extension AgentBackend {
    public var models: [ModelInfo] { [] }
    public var defaultModel: ModelName? { nil }
    public var defaultThinkingVariant: String? { nil }
    public var personas: [AgentPersona] { [] }
    public func forget(_ session: SessionID) async {}
    public func compact(_ session: SessionID, host: any AgentHost) async -> Bool { false }
}

/// A way of working. The first one of a back end is that of new sessions.
public struct AgentPersona: Hashable, Sendable {
    public var name: String
    public var description: String

    public init(name: String, description: String) {
        self.name = name
        self.description = description
    }
}

/// What an agent is asked to do.
public struct AgentTurn: Sendable {
    public let session: SessionID
    public let turn: TurnID
    /// What the person wrote.
    public let text: String
    public let attachments: [Attachment]
    /// Guidance that came while no turn ran.
    public let guidance: [String]
    /// The session's directory; nil is the home of the daemon's user.
    public let directory: String?
    public let model: ModelName?
    /// `high`, `budget:8192`; nil is off.
    public let thinkingVariant: String?
    public let persona: String?

    public init(
        session: SessionID, turn: TurnID, text: String, attachments: [Attachment] = [], guidance: [String] = [],
        directory: String? = nil, model: ModelName? = nil, thinkingVariant: String? = nil, persona: String? = nil
    ) {
        (self.session, self.turn, self.text, self.attachments) = (session, turn, text, attachments)
        (self.guidance, self.directory, self.model) = (guidance, directory, model)
        (self.thinkingVariant, self.persona) = (thinkingVariant, persona)
    }
}

/// How a turn ended.
public enum AgentResult: Hashable, Sendable {
    case completed
    /// The sentence is shown to people. Not for a tool that failed: that is part of a completed turn.
    case failed(String)
    /// The agent cannot work for the session now, nor for what waits there: the prompts that wait fail with this turn and for the
    /// same reason, instead of one after the other.
    case unavailable(String)
    case cancelled
}
