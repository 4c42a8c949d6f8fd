// Client → daemon: terminals (spec/mew-wire.md §3.1.5).

extension ClientMessage {
    /// `terminal_open`: one per connection, opening closes the former. Answered with `terminal_opened`, then output.
    public struct TerminalOpen: Record, Sendable, Equatable {
        public var rows: UInt16
        public var columns: UInt16

        public init(rows: UInt16, columns: UInt16) {
            (self.rows, self.columns) = (rows, columns)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            rows = try f.required("rows", old?.rows)
            columns = try f.required("cols", old?.columns)
        }
    }

    /// `terminal_input`.
    public struct TerminalInput: Record, Sendable, Equatable {
        public var terminalID: TerminalID
        /// An array of integers on the wire.
        public var bytes: [UInt8]

        public init(terminalID: TerminalID, bytes: [UInt8]) {
            (self.terminalID, self.bytes) = (terminalID, bytes)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            terminalID = try f.required("terminal_id", old?.terminalID)
            bytes = try f.required("bytes", old?.bytes)
        }
    }

    /// `terminal_resize`.
    public struct TerminalResize: Record, Sendable, Equatable {
        public var terminalID: TerminalID
        public var rows: UInt16
        public var columns: UInt16

        public init(terminalID: TerminalID, rows: UInt16, columns: UInt16) {
            (self.terminalID, self.rows, self.columns) = (terminalID, rows, columns)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            terminalID = try f.required("terminal_id", old?.terminalID)
            rows = try f.required("rows", old?.rows)
            columns = try f.required("cols", old?.columns)
        }
    }

    /// `terminal_close`. Answered with `terminal_exited` when the shell is gone.
    public struct TerminalClose: Record, Sendable, Equatable {
        public var terminalID: TerminalID

        public init(terminalID: TerminalID) {
            self.terminalID = terminalID
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            terminalID = try f.required("terminal_id", old?.terminalID)
        }
    }
}
