// Daemon → client: what it offers, and what of it a session uses (spec/mew-wire.md §3.2.4).

extension DaemonMessage {
    /// `model_list` (R), sorted by provider, then model.
    public struct ModelList: Record, Sendable, Equatable {
        public var models: [ModelInfo]

        public init(models: [ModelInfo]) {
            self.models = models
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            models = try f.required("models", old?.models)
        }
    }

    /// `model_switched`, to those attached.
    public struct ModelSwitched: Record, Sendable, Equatable {
        public var provider: String
        public var model: String

        public init(provider: String, model: String) {
            (self.provider, self.model) = (provider, model)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            provider = try f.required("provider", old?.provider)
            model = try f.required("model", old?.model)
        }
    }

    /// `thinking_variant_changed`; nil is off.
    public struct ThinkingVariantChanged: Record, Sendable, Equatable {
        public var variant: String?

        public init(variant: String? = nil) {
            self.variant = variant
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            variant = try f.optional("variant", old?.variant)
        }
    }

    /// `permission_mode_changed`, to those attached: what runs without asking is another thing now.
    public struct PermissionModeChanged: Record, Sendable, Equatable {
        public var mode: String
        /// All tools that run unasked besides, because somebody allowed them for the session; nil when that did not change.
        public var allowedTools: [String]?

        public init(mode: String, allowedTools: [String]? = nil) {
            (self.mode, self.allowedTools) = (mode, allowedTools)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            mode = try f.required("mode", old?.mode)
            allowedTools = try f.native("allowed_tools", old?.allowedTools)
        }
    }

    /// `persona_list` (R).
    public struct PersonaList: Record, Sendable, Equatable {
        public var personas: [PersonaInfo]

        public init(personas: [PersonaInfo]) {
            self.personas = personas
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            personas = try f.required("personas", old?.personas)
        }
    }

    /// `persona_switched`.
    public struct PersonaSwitched: Record, Sendable, Equatable {
        public var name: String

        public init(name: String) {
            self.name = name
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            name = try f.required("name", old?.name)
        }
    }

    /// `group_list` (R), and `groups_changed` for everyone.
    public struct GroupList: Record, Sendable, Equatable {
        public var groups: [GroupInfo]

        public init(groups: [GroupInfo]) {
            self.groups = groups
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            groups = try f.required("groups", old?.groups)
        }
    }

    /// `project_list` (R, and for everyone after pinning).
    public struct ProjectList: Record, Sendable, Equatable {
        public var projects: [ProjectInfo]

        public init(projects: [ProjectInfo]) {
            self.projects = projects
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            projects = try f.required("projects", old?.projects)
        }
    }

    /// `agent_list` (R, native): names only, never commands.
    public struct AgentList: Record, Sendable, Equatable {
        public var agents: [String]
        /// What a session gets that names none.
        public var standard: String?

        public init(agents: [String], standard: String? = nil) {
            (self.agents, self.standard) = (agents, standard)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            agents = try f.required("agents", old?.agents)
            standard = try f.optional("default", old?.standard)
        }
    }
}
