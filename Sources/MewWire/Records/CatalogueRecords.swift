// Records of what a daemon offers: models, personas, groups, projects (spec/mew-wire.md §3.3.2).

/// A model that a session can switch to.
public struct ModelInfo: Record, Sendable, Equatable {
    /// `provider/model`.
    public var id: String
    public var provider: String
    public var model: String
    public var description: String?
    public var thinkingVariants: [ThinkingVariant]
    public var thinkingBudget: ThinkingBudget?
    /// Tokens.
    public var contextWindow: Int64?

    public init(
        id: String, provider: String, model: String, description: String? = nil,
        thinkingVariants: [ThinkingVariant] = [], thinkingBudget: ThinkingBudget? = nil, contextWindow: Int64? = nil
    ) {
        (self.id, self.provider, self.model, self.description) = (id, provider, model, description)
        (self.thinkingVariants, self.thinkingBudget) = (thinkingVariants, thinkingBudget)
        self.contextWindow = contextWindow
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        id = try f.required("id", old?.id)
        provider = try f.required("provider", old?.provider)
        model = try f.required("model", old?.model)
        description = try f.optional("description", old?.description)
        thinkingVariants = try f.unless([], "thinking_variants", old?.thinkingVariants)
        thinkingBudget = try f.optional("thinking_budget", old?.thinkingBudget)
        contextWindow = try f.optional("context_window", old?.contextWindow)
    }
}

/// A named amount of thinking.
public struct ThinkingVariant: Record, Sendable, Equatable {
    public var name: String

    public init(name: String) {
        self.name = name
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        name = try f.required("name", old?.name)
    }
}

/// How many tokens a model may think, chosen with `budget:<n>`.
public struct ThinkingBudget: Record, Sendable, Equatable {
    public var min: Int64
    public var max: Int64
    public var step: Int64
    public var standard: Int64
    public var byEffort: [EffortBudget]

    public init(min: Int64, max: Int64, step: Int64, standard: Int64, byEffort: [EffortBudget] = []) {
        (self.min, self.max, self.step, self.standard, self.byEffort) = (min, max, step, standard, byEffort)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        min = try f.required("min", old?.min)
        max = try f.required("max", old?.max)
        step = try f.required("step", old?.step)
        standard = try f.required("default", old?.standard)
        byEffort = try f.defaulted("by_effort", old?.byEffort, [])
    }
}

/// A way of working that a session can take on.
public struct PersonaInfo: Record, Sendable, Equatable {
    public var name: String
    public var description: String
    public var color: String?
    public var active: Bool

    public init(name: String, description: String, color: String? = nil, active: Bool) {
        (self.name, self.description, self.color, self.active) = (name, description, color, active)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        name = try f.required("name", old?.name)
        description = try f.required("description", old?.description)
        color = try f.optional("color", old?.color)
        active = try f.required("active", old?.active)
    }
}

/// A group of sessions.
public struct GroupInfo: Record, Sendable, Equatable {
    public var id: GroupID
    public var name: String
    public var color: String?
    public var order: UInt32

    public init(id: GroupID, name: String, color: String? = nil, order: UInt32) {
        (self.id, self.name, self.color, self.order) = (id, name, color, order)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        id = try f.required("id", old?.id)
        name = try f.required("name", old?.name)
        color = try f.optional("color", old?.color)
        order = try f.required("order", old?.order)
    }
}

/// A directory in which sessions ran.
public struct ProjectInfo: Record, Sendable, Equatable {
    public var path: String
    /// The last component of the path.
    public var displayName: String
    public var sessionCount: UInt32
    /// Milliseconds. Stock comments disagree about the unit; `normalizedLastUse` settles it.
    public var lastUsedAt: WallTime?
    public var pinned: Bool

    public init(
        path: String, displayName: String, sessionCount: UInt32, lastUsedAt: WallTime? = nil, pinned: Bool = false
    ) {
        (self.path, self.displayName, self.sessionCount) = (path, displayName, sessionCount)
        (self.lastUsedAt, self.pinned) = (lastUsedAt, pinned)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        path = try f.required("path", old?.path)
        displayName = try f.required("display_name", old?.displayName)
        sessionCount = try f.required("session_count", old?.sessionCount)
        lastUsedAt = try f.optional("last_used_at", old?.lastUsedAt)
        pinned = try f.defaulted("pinned", old?.pinned, false)
    }

    /// `last_used_at` with values that can only be seconds, up to 10^11, turned into milliseconds (spec/mew-wire.md §3.3.2).
    public var normalizedLastUse: WallTime? {
        lastUsedAt.map { $0.milliseconds > 100_000_000_000 ? $0 : WallTime(milliseconds: $0.milliseconds * 1_000) }
    }
}

/// One pair `["high", 16384]` of `by_effort`.
public struct EffortBudget: Sendable, Equatable, WireValue {
    public var effort: String
    public var tokens: Int64

    public init(effort: String, tokens: Int64) {
        (self.effort, self.tokens) = (effort, tokens)
    }

    package static func read(_ json: JSON, on link: ApplicationProtocol) throws(FieldError) -> EffortBudget {
        guard case .array(let pair) = json, pair.count == 2 else {
            throw FieldError("must be a pair of name and number")
        }
        return EffortBudget(effort: try element(0, of: pair, on: link), tokens: try element(1, of: pair, on: link))
    }

    private static func element<V: WireValue>(
        _ index: Int, of pair: [JSON], on link: ApplicationProtocol
    ) throws(FieldError) -> V {
        do throws(FieldError) {
            return try V.read(pair[index], on: link)
        } catch {
            throw error.inside(index: index)
        }
    }

    package func write(to fields: inout Fields) {
        fields.writer.write([.string(effort), .integer(tokens)])
    }
}
