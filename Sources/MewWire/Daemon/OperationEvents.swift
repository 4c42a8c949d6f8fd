// Daemon → requester, native only: what became of an operation (spec/native-wire.md §2 and §3).

extension DaemonMessage {
    /// `receipt`: `stored`, then for prompts `started`, then `done`; or `refused`. Answers every valid `op_id`.
    public struct Receipt: Record, Sendable, Equatable {
        public var operation: OperationID
        public var state: ReceiptState
        /// The operation was known already; this is what became of the original.
        public var isRepeat: Bool
        public var sessionID: SessionID?
        /// The event that the operation became; not the number of this message.
        public var sequence: SequenceNumber?
        public var turnID: TurnID?
        /// How a turn ended; only when a prompt is `done`.
        public var result: TurnResult?
        /// Why it was refused, with a sentence for people.
        public var code: ErrorCode?
        public var message: String?
        public var at: WallTime

        public init(
            operation: OperationID, state: ReceiptState, isRepeat: Bool, sessionID: SessionID? = nil,
            sequence: SequenceNumber? = nil, turnID: TurnID? = nil, result: TurnResult? = nil,
            code: ErrorCode? = nil, message: String? = nil, at: WallTime
        ) {
            (self.operation, self.state, self.isRepeat, self.sessionID) = (operation, state, isRepeat, sessionID)
            (self.sequence, self.turnID, self.result, self.code) = (sequence, turnID, result, code)
            (self.message, self.at) = (message, at)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            f.ownsSequenceField()
            operation = try f.required("op_id", old?.operation)
            state = try f.required("state", old?.state)
            isRepeat = try f.required("repeat", old?.isRepeat)
            sessionID = try f.optionalSession(old?.sessionID)
            sequence = try f.optional("seq", old?.sequence)
            turnID = try f.optional("turn_id", old?.turnID)
            result = try f.optional("result", old?.result)
            code = try f.optional("code", old?.code)
            message = try f.optional("message", old?.message)
            at = try f.required("at_ms", old?.at)
        }
    }

    /// `answer_verdict`: what became of an answer. A client shows "sending" until it comes.
    public struct AnswerVerdict: Record, Sendable, Equatable {
        public var operation: OperationID
        public var requestID: RequestID
        public var outcome: AnswerOutcome
        /// When it came too late: how the request ended, who ended it, and how they decided.
        public var how: RequestOutcome?
        public var by: By?
        public var decision: String?

        public init(
            operation: OperationID, requestID: RequestID, outcome: AnswerOutcome, how: RequestOutcome? = nil,
            by: By? = nil, decision: String? = nil
        ) {
            (self.operation, self.requestID, self.outcome, self.how) = (operation, requestID, outcome, how)
            (self.by, self.decision) = (by, decision)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            operation = try f.required("op_id", old?.operation)
            requestID = try f.required("request_id", old?.requestID)
            outcome = try f.required("outcome", old?.outcome)
            how = try f.optional("how", old?.how)
            by = try f.optional("by", old?.by)
            decision = try f.optional("decision", old?.decision)
        }
    }
}

/// How far an operation is.
public enum ReceiptState: String, WireEnum, Sendable, Hashable {
    /// Saved: it will not be lost. A prompt runs after a restart.
    case stored
    /// A prompt is about to be given to the agent; it will not be run again by itself.
    case started
    case done
    case refused
    /// Never stored; the answer to a `receipt_query` only.
    case absent
}

/// How a turn ended.
public enum TurnResult: String, WireEnum, Sendable, Hashable {
    case completed, failed, cancelled
    /// The daemon stopped in the middle. Never run again by itself.
    case interrupted
}

/// What became of an answer.
public enum AnswerOutcome: String, WireEnum, Sendable, Hashable {
    /// It settled the request.
    case settled
    /// The same device gave the same answer before.
    case repeated
    case tooLate = "too_late"
    /// It was for another text than the daemon asked about.
    case notWhatWasShown = "not_what_was_shown"
    case unknown
}

/// How a request ended.
public enum RequestOutcome: String, WireEnum, Sendable, Hashable {
    case answered, cancelled
    case turnEnded = "turn_ended"
}
