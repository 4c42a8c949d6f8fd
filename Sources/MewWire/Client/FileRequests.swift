// Client → daemon: files of a session (spec/mew-wire.md §3.1.4, rules in §4.12). Paths are relative to its directory.

extension ClientMessage {
    /// `list_dir`. Answered with `dir_listing`.
    public struct ListDir: Record, Sendable, Equatable {
        public var sessionID: SessionID
        /// Nil, empty and `.` are the root.
        public var path: String?

        public init(sessionID: SessionID, path: String? = nil) {
            (self.sessionID, self.path) = (sessionID, path)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            path = try f.optional("path", old?.path)
        }
    }

    /// `list_filesystem_dir`: directories below the home directory. Answered with `filesystem_dir_listing`.
    public struct ListFilesystemDir: Record, Sendable, Equatable {
        /// Nil, empty and `~` are the home directory.
        public var path: String?

        public init(path: String? = nil) {
            self.path = path
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            path = try f.nullable("path", old?.path)
        }
    }

    /// `read_file_preview`. Answered with `file_preview`.
    public struct ReadFilePreview: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var path: String
        /// 65,536 when nil.
        public var maxBytes: UInt64?

        public init(sessionID: SessionID, path: String, maxBytes: UInt64? = nil) {
            (self.sessionID, self.path, self.maxBytes) = (sessionID, path, maxBytes)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            path = try f.required("path", old?.path)
            maxBytes = try f.optional("max_bytes", old?.maxBytes)
        }
    }

    /// `git_status`. Answered with `git_status_result`.
    public struct GitStatus: Record, Sendable, Equatable {
        public var sessionID: SessionID

        public init(sessionID: SessionID) {
            self.sessionID = sessionID
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
        }
    }

    /// `watch_workspace`. No reply; later `fs_changed`.
    public struct WatchWorkspace: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var enabled: Bool

        public init(sessionID: SessionID, enabled: Bool) {
            (self.sessionID, self.enabled) = (sessionID, enabled)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            enabled = try f.required("enabled", old?.enabled)
        }
    }

    /// `open_path`: opens it on the daemon's screen. Only failures are answered.
    public struct OpenPath: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var path: String

        public init(sessionID: SessionID, path: String) {
            (self.sessionID, self.path) = (sessionID, path)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            path = try f.required("path", old?.path)
        }
    }

    /// `unflag_file`. Attached clients get `flagged_files_changed`.
    public struct UnflagFile: Record, Sendable, Equatable {
        public var sessionID: SessionID
        public var path: String

        public init(sessionID: SessionID, path: String) {
            (self.sessionID, self.path) = (sessionID, path)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            path = try f.required("path", old?.path)
        }
    }
}
