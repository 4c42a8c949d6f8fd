import MewSession
package import MewWire

/// What one session lost with a damaged database, as `mew status` shows it.
package struct ControlLoss: Equatable, Sendable {
    package let session: String
    package let title: String?
    /// False when the session can only be deleted.
    package let isReadable: Bool
    package let messages: Int
    package let events: Int
    package let requests: Int

    package init(
        session: String, title: String?, isReadable: Bool, messages: Int, events: Int, requests: Int
    ) {
        (self.session, self.title, self.isReadable) = (session, title, isReadable)
        (self.messages, self.events, self.requests) = (messages, events, requests)
    }

    /// One object of `mew status --json`.
    package var row: JSON {
        [
            "session_id": .string(session), "title": title.map(JSON.string) ?? .null, "readable": .bool(isReadable),
            "messages": .integer(Int64(messages)), "events": .integer(Int64(events)),
            "requests": .integer(Int64(requests)),
        ]
    }

    init(_ reader: ControlFields) throws(ControlError) {
        self.init(
            session: try reader.text("session_id"), title: reader.optionalText("title"),
            isReadable: try reader.flag("readable"), messages: Int(clamping: try reader.integer("messages")),
            events: Int(clamping: try reader.integer("events")),
            requests: Int(clamping: try reader.integer("requests")))
    }

    init(_ loss: SessionLoss) {
        self.init(
            session: loss.session.text, title: loss.title, isReadable: loss.isReadable,
            messages: Int(clamping: loss.messages), events: Int(clamping: loss.events),
            requests: Int(clamping: loss.requests))
    }
}
