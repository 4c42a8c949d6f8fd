// Client → daemon: models, modes and personas of the attached session (spec/mew-wire.md §3.1.3). `list_models`,
// `list_personas` and `forget_allowed_tools` (native; ARCHITECTURE.md) have no fields.

extension ClientMessage {
    /// `switch_model`, after the running turn. Attached clients get `model_switched`.
    public struct SwitchModel: Record, Sendable, Equatable {
        public var provider: String
        public var model: String

        public init(provider: String, model: String) {
            (self.provider, self.model) = (provider, model)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            provider = try f.required("provider", old?.provider, upTo: TextLimits.nameBytes)
            model = try f.required("model", old?.model, upTo: TextLimits.nameBytes)
        }
    }

    /// `set_thinking_variant`, after the running turn. Answered with `thinking_variant_changed`.
    public struct SetThinkingVariant: Record, Sendable, Equatable {
        /// Empty or `none` is off; a name; or `budget:<tokens>`.
        public var variant: String

        public init(variant: String) {
            self.variant = variant
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            variant = try f.required("variant", old?.variant, upTo: TextLimits.nameBytes)
        }
    }

    /// `set_permission_mode`, at once. Attached clients get `permission_mode_changed`. A mode that asks more often than the one
    /// before also ends what was allowed for the session.
    public struct SetPermissionMode: Record, Sendable, Equatable {
        /// See `PermissionMode(text:)`.
        public var mode: String

        public init(mode: String) {
            self.mode = mode
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            mode = try f.required("mode", old?.mode, upTo: TextLimits.nameBytes)
        }
    }

    /// `switch_persona`, after the running turn. Answered with `persona_switched`.
    public struct SwitchPersona: Record, Sendable, Equatable {
        public var name: String

        public init(name: String) {
            self.name = name
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            name = try f.required("name", old?.name, upTo: TextLimits.nameBytes)
        }
    }
}
