// Daemon → client: files (spec/mew-wire.md §3.2.4).

extension DaemonMessage {
    /// `dir_listing` (R).
    public struct DirListing: Record, Sendable, Equatable {
        public var sessionID: SessionID
        /// Relative; empty for the root.
        public var path: String
        public var entries: [DirEntry]

        public init(sessionID: SessionID, path: String, entries: [DirEntry]) {
            (self.sessionID, self.path, self.entries) = (sessionID, path, entries)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            sessionID = try f.session(old?.sessionID)
            path = try f.required("path", old?.path)
            entries = try f.required("entries", old?.entries)
        }
    }

    /// `filesystem_dir_listing` (R).
    public struct FilesystemDirListing: Record, Sendable, Equatable {
        /// Absolute.
        public var path: String
        public var entries: [DirEntry]

        public init(path: String, entries: [DirEntry]) {
            (self.path, self.entries) = (path, entries)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            path = try f.required("path", old?.path)
            entries = try f.required("entries", old?.entries)
        }
    }

    /// `file_preview` (R).
    public struct FilePreview: Record, Sendable, Equatable {
        public var path: String
        public var content: String
        public var isTruncated: Bool
        /// The file's extension.
        public var language: String?

        public init(path: String, content: String, isTruncated: Bool, language: String? = nil) {
            (self.path, self.content, self.isTruncated, self.language) = (path, content, isTruncated, language)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            path = try f.required("path", old?.path)
            content = try f.required("content", old?.content)
            isTruncated = try f.required("truncated", old?.isTruncated)
            language = try f.optional("language", old?.language)
        }
    }

    /// `git_status_result` (R).
    public struct GitStatusResult: Record, Sendable, Equatable {
        public var entries: [GitEntry]

        public init(entries: [GitEntry]) {
            self.entries = entries
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            entries = try f.required("entries", old?.entries)
        }
    }

    /// `fs_changed`, to those attached: paths relative to the workspace.
    public struct FsChanged: Record, Sendable, Equatable {
        public var paths: [String]

        public init(paths: [String]) {
            self.paths = paths
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            paths = try f.required("paths", old?.paths)
        }
    }
}
