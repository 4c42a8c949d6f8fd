// Daemon → client: the browser of the desktop app (spec/mew-wire.md §3.2.5).

extension DaemonMessage {
    /// `browser_state`.
    public struct BrowserState: Record, Sendable, Equatable {
        public var isOpen: Bool
        public var url: String?
        public var title: String?
        public var tabID: String?

        public init(isOpen: Bool, url: String? = nil, title: String? = nil, tabID: String? = nil) {
            (self.isOpen, self.url, self.title, self.tabID) = (isOpen, url, title, tabID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            isOpen = try f.required("open", old?.isOpen)
            url = try f.nullable("url", old?.url)
            title = try f.nullable("title", old?.title)
            tabID = try f.optional("tab_id", old?.tabID)
        }
    }

    /// `browser_snapshot`.
    public struct BrowserSnapshot: Record, Sendable, Equatable {
        public var snapshot: String
        public var url: String
        public var title: String
        public var tabID: String?

        public init(snapshot: String, url: String, title: String, tabID: String? = nil) {
            (self.snapshot, self.url, self.title, self.tabID) = (snapshot, url, title, tabID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            snapshot = try f.required("snapshot", old?.snapshot)
            url = try f.required("url", old?.url)
            title = try f.required("title", old?.title)
            tabID = try f.optional("tab_id", old?.tabID)
        }
    }

    /// `browser_screenshot`.
    public struct BrowserScreenshot: Record, Sendable, Equatable {
        /// Base64 of a PNG.
        public var data: String
        public var url: String
        public var tabID: String?

        public init(data: String, url: String, tabID: String? = nil) {
            (self.data, self.url, self.tabID) = (data, url, tabID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            data = try f.required("data", old?.data)
            url = try f.required("url", old?.url)
            tabID = try f.optional("tab_id", old?.tabID)
        }
    }

    /// `browser_error`.
    public struct BrowserError: Record, Sendable, Equatable {
        public var message: String
        public var tabID: String?

        public init(message: String, tabID: String? = nil) {
            (self.message, self.tabID) = (message, tabID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            message = try f.required("message", old?.message)
            tabID = try f.optional("tab_id", old?.tabID)
        }
    }
}
