// The state of a tool call (spec/mew-wire.md §3.3.4): `status`, `input`, the fields of the status, `time`.

/// How far a tool call is.
public struct ToolState: Record, Sendable, Equatable {
    /// What the tool was called with. Means nothing yet while pending: the arguments are still streaming.
    public var input: JSON
    public var phase: Phase
    public var time: ToolTime

    public enum Phase: Sendable, Equatable {
        case pending
        case running(output: String)
        case completed(Completed)
        case error(String)
    }

    public init(input: JSON, phase: Phase, time: ToolTime) {
        (self.input, self.phase, self.time) = (input, phase, time)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        let status = try f.required("status", old?.phase.status)
        input = try f.required("input", old?.input)
        switch status {
        case .pending: phase = .pending
        case .running: phase = .running(output: try f.defaulted("output", old?.phase.runningOutput, ""))
        case .completed: phase = .completed(try Completed(&f, old?.phase.completed))
        case .error: phase = .error(try f.required("error", old?.phase.error))
        }
        time = try f.required("time", old?.time)
    }
}

extension ToolState {
    /// What a tool returned.
    public struct Completed: Record, Sendable, Equatable {
        public var output: String
        public var metadata: JSON?
        /// A unified diff of what it changed.
        public var diff: String?
        public var images: [ToolImage]

        public init(output: String, metadata: JSON? = nil, diff: String? = nil, images: [ToolImage] = []) {
            (self.output, self.metadata, self.diff, self.images) = (output, metadata, diff, images)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            output = try f.required("output", old?.output)
            metadata = try f.optional("metadata", old?.metadata)
            diff = try f.optional("diff", old?.diff)
            images = try f.unless([], "images", old?.images)
        }
    }
}

/// A picture that a tool made.
public struct ToolImage: Record, Sendable, Equatable {
    public var mime: String
    /// Base64.
    public var data: String

    public init(mime: String, data: String) {
        (self.mime, self.data) = (mime, data)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        mime = try f.required("mime", old?.mime)
        data = try f.required("data", old?.data)
    }
}

/// When a call began and ended.
public struct ToolTime: Record, Sendable, Equatable {
    public var start: WallTime
    public var end: WallTime?

    public init(start: WallTime, end: WallTime? = nil) {
        (self.start, self.end) = (start, end)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        start = try f.required("start", old?.start)
        end = try f.optional("end", old?.end)
    }
}

// MARK: - Looking inside

/// The strings of a tool state's `status`.
enum ToolStatus: String, WireEnum {
    case pending, running, completed, error
}

extension ToolState.Phase {
    var status: ToolStatus {
        switch self {
        case .pending: .pending
        case .running: .running
        case .completed: .completed
        case .error: .error
        }
    }

    public var runningOutput: String? { if case .running(let output) = self { output } else { nil } }
    public var completed: ToolState.Completed? { if case .completed(let value) = self { value } else { nil } }
    public var error: String? { if case .error(let text) = self { text } else { nil } }
}
