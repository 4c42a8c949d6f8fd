public import MewWire

/// What of one session could not be saved out of a damaged database.
public struct SessionLoss: Record, Sendable, Hashable {
    public var session: SessionID
    /// What people call it; nil when that is lost as well.
    public var title: String?
    /// False when the session's own record is lost: it can only be deleted.
    public var isReadable: Bool
    public var messages: UInt64
    public var events: UInt64
    /// Questions of the agent, open and settled.
    public var requests: UInt64

    public init(
        session: SessionID, title: String?, isReadable: Bool, messages: UInt64, events: UInt64, requests: UInt64
    ) {
        (self.session, self.title, self.isReadable) = (session, title, isReadable)
        (self.messages, self.events, self.requests) = (messages, events, requests)
    }

    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        session = try f.required("session", old?.session)
        title = try f.optional("title", old?.title)
        isReadable = try f.unless(true, "readable", old?.isReadable)
        messages = try f.required("messages", old?.messages)
        events = try f.required("events", old?.events)
        requests = try f.required("requests", old?.requests)
    }

    public var isNothing: Bool { isReadable && messages == 0 && events == 0 && requests == 0 }
}

extension [SessionLoss] {
    /// A list as it is kept; empty when there is none, or none that can be read.
    public init(stored text: String?) {
        guard let text, let json = try? JSON(parsing: Array<UInt8>(text.utf8)), let list = try? Self.decode(json) else {
            self = []
            return
        }
        self = list
    }

    public var stored: String { String(decoding: encoded(), as: UTF8.self) }
}

extension SettingName {
    /// What the last repair lost, as `[SessionLoss].stored`; gone with the next start after a clean end.
    public static let losses: SettingName = "store.losses"
    /// How many sessions are gone with their names, in digits; goes with `losses`.
    public static let sessionsGone: SettingName = "store.sessions-gone"
}
