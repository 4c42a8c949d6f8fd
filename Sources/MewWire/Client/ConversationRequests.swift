// Client → daemon: the conversation of the attached session (spec/mew-wire.md §3.1.2). `yield_control` has no fields.

extension ClientMessage {
    /// `prompt`: starts a turn, or waits for the running one. Everyone attached gets `user_message` at once.
    public struct Prompt: Record, Sendable, Equatable {
        public var text: String
        public var attachments: [Attachment]

        public init(text: String, attachments: [Attachment] = []) {
            (self.text, self.attachments) = (text, attachments)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            text = try f.required("text", old?.text)
            attachments = try f.listed(try f.defaulted("attachments", old?.attachments, []), "attachments")
        }
    }

    /// `guide`: steers the running turn; kept for the next one when idle. Blank text is ignored.
    public struct Guide: Record, Sendable, Equatable {
        public var text: String

        public init(text: String) {
            self.text = text
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            text = try f.required("text", old?.text)
        }
    }

    /// `cancel`: ends the running turn and closes its open requests.
    public struct Cancel: Record, Sendable, Equatable {
        /// The turn that is meant; another one running is refused with `turn_over`. Stock: whichever runs.
        public var turnID: TurnID?

        public init(turnID: TurnID? = nil) {
            self.turnID = turnID
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            turnID = try f.native("turn_id", old?.turnID)
        }
    }

    /// `slash_command`: a command of the daemon (spec/mew-wire.md §4.9). Answered with `slash_result`, if at all.
    public struct SlashCommand: Record, Sendable, Equatable {
        /// With its slash; arguments after a space.
        public var command: String

        public init(command: String) {
            self.command = command
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            command = try f.required("command", old?.command, upTo: TextLimits.wordsBytes)
        }
    }
}
