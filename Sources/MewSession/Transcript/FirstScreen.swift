import MewWire

/// What a client that attaches is shown before it is caught up, open requests aside: small enough for a slow link, whatever the
/// session holds (DESIGN §8).
///
/// The end of the part that is being streamed comes first, because people look at it; the newest messages get the rest, and one
/// of them is always there.
struct FirstScreen: Sendable {
    /// How much of a session a kind of client is shown.
    struct Limits: Hashable, Sendable {
        let messages: Int
        /// Of all frames from `session_ready` to `caught_up`.
        let bytes: Int

        /// Two seconds of a link of 256 kbit/s. 24 messages are a stock page.
        static let page = Limits(messages: 24, bytes: 64 << 10)
        /// A stock phone never asks for older messages; it gets as many as its own daemon gives, in eight seconds of such a link.
        static let phone = Limits(messages: 24, bytes: 256 << 10)
    }

    /// Of `session_ready`, the title and the frames around the rest: a path of 4 KiB, a title, names.
    static let envelopeBytes = 6 << 10
    /// To-dos and flagged files are shown whole, so that few are kept. People read a screen of either.
    static let maxTodos = 100
    static let maxFlaggedFiles = 200
    /// Of either list.
    static let maxListBytes = 16 << 10

    /// Its `openPart` is the end of it.
    let page: Transcript.Page

    /// - Parameter lists: bytes of the to-dos and flagged files that are shown besides.
    init(_ transcript: Transcript, _ limits: Limits, lists: Int) {
        let room = limits.bytes - Self.envelopeBytes - lists
        let part = transcript.streamingPart.map { $0.end(within: room / 2) }
        var page = transcript.newest(
            maxMessages: limits.messages, maxBytes: room - (part?.encoded().count ?? 0))
        // A part that is older than the page is not shown at all.
        if page.openPart != nil { page.openPart = part }
        self.page = page
    }

    static func kept(_ todos: [Todo]) -> [Todo] { beginning(of: todos, atMost: maxTodos) }
    static func kept(_ files: [FlaggedFile]) -> [FlaggedFile] { beginning(of: files, atMost: maxFlaggedFiles) }

    private static func beginning<Line: WireValue>(of lines: [Line], atMost count: Int) -> [Line] {
        var bytes = 0
        return Array(
            lines.prefix(count).prefix { line in
                bytes += line.encoded().count + 1
                return bytes <= maxListBytes
            })
    }
}
