// Client → daemon: the browser of the desktop app (spec/mew-wire.md §3.1.5). Answered with `browser_state`, the message of
// the same name, or `browser_error`.

extension ClientMessage {
    /// `browser_open`.
    public struct BrowserOpen: Record, Sendable, Equatable {
        public var url: String
        public var tabID: String?

        public init(url: String, tabID: String? = nil) {
            (self.url, self.tabID) = (url, tabID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            url = try f.required("url", old?.url)
            tabID = try f.optional("tab_id", old?.tabID)
        }
    }

    /// `browser_snapshot`.
    public struct BrowserSnapshot: Record, Sendable, Equatable {
        public var tabID: String?

        public init(tabID: String? = nil) {
            self.tabID = tabID
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            tabID = try f.optional("tab_id", old?.tabID)
        }
    }

    /// `browser_screenshot`.
    public struct BrowserScreenshot: Record, Sendable, Equatable {
        public var annotate: Bool
        public var tabID: String?

        public init(annotate: Bool, tabID: String? = nil) {
            (self.annotate, self.tabID) = (annotate, tabID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            annotate = try f.required("annotate", old?.annotate)
            tabID = try f.optional("tab_id", old?.tabID)
        }
    }

    /// `browser_click`.
    public struct BrowserClick: Record, Sendable, Equatable {
        public var selector: String
        public var tabID: String?

        public init(selector: String, tabID: String? = nil) {
            (self.selector, self.tabID) = (selector, tabID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            selector = try f.required("selector", old?.selector)
            tabID = try f.optional("tab_id", old?.tabID)
        }
    }

    /// `browser_fill`.
    public struct BrowserFill: Record, Sendable, Equatable {
        public var selector: String
        public var text: String
        public var tabID: String?

        public init(selector: String, text: String, tabID: String? = nil) {
            (self.selector, self.text, self.tabID) = (selector, text, tabID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            selector = try f.required("selector", old?.selector)
            text = try f.required("text", old?.text)
            tabID = try f.optional("tab_id", old?.tabID)
        }
    }

    /// `browser_press`.
    public struct BrowserPress: Record, Sendable, Equatable {
        public var key: String
        public var tabID: String?

        public init(key: String, tabID: String? = nil) {
            (self.key, self.tabID) = (key, tabID)
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            key = try f.required("key", old?.key)
            tabID = try f.optional("tab_id", old?.tabID)
        }
    }

    /// `browser_close`.
    public struct BrowserClose: Record, Sendable, Equatable {
        public var tabID: String?

        public init(tabID: String? = nil) {
            self.tabID = tabID
        }

        package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
            tabID = try f.optional("tab_id", old?.tabID)
        }
    }
}
