// Daemon → client: terminals (spec/mew-wire.md §3.2.5).

extension DaemonMessage {
    /// `terminal_opened`.
    public struct TerminalOpened: Record, Sendable, Equatable {
        public var terminalID: TerminalID

        public init(terminalID: TerminalID) {
            self.terminalID = terminalID
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            terminalID = try f.required("terminal_id", old?.terminalID)
        }
    }

    /// `terminal_output`: at most 8,192 bytes a message, an array of integers on the wire.
    public struct TerminalOutput: Record, Sendable, Equatable {
        public var terminalID: TerminalID
        public var bytes: [UInt8]

        public init(terminalID: TerminalID, bytes: [UInt8]) {
            (self.terminalID, self.bytes) = (terminalID, bytes)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            terminalID = try f.required("terminal_id", old?.terminalID)
            bytes = try f.required("bytes", old?.bytes)
        }
    }

    /// `terminal_exited`.
    public struct TerminalExited: Record, Sendable, Equatable {
        public var terminalID: TerminalID
        public var status: String

        public init(terminalID: TerminalID, status: String) {
            (self.terminalID, self.status) = (terminalID, status)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            terminalID = try f.required("terminal_id", old?.terminalID)
            status = try f.required("status", old?.status)
        }
    }

    /// `terminal_error`.
    public struct TerminalError: Record, Sendable, Equatable {
        public var terminalID: TerminalID?
        public var message: String

        public init(terminalID: TerminalID? = nil, message: String) {
            (self.terminalID, self.message) = (terminalID, message)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            terminalID = try f.nullable("terminal_id", old?.terminalID)
            message = try f.required("message", old?.message)
        }
    }
}
