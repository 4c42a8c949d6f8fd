import MewClient
import MewLoop
import MewWire

/// What was said between the last message on the screen and a page that replaces what was known: after a long absence the page has
/// the newest messages only.
struct MissedMessages: Equatable {
    /// Oldest first; begins with the last one on the screen, of which more may have been said.
    private(set) var messages: [Message] = []
    /// Where the page before them ends; nil when they are all.
    private(set) var cursor: UInt64?
    private var pages = 0
    private let newest: MessageID?

    /// Some 400 messages, and 32 MiB: more than a person reads of what he missed.
    static let maxPages = 16

    /// - Parameter newest: the last message on the screen; nil when there is none.
    init(before page: DaemonMessage.SessionHistoryPage, after newest: MessageID?) {
        self.newest = newest
        cursor = page.messages.contains { $0.id == newest } ? nil : page.nextCursor
    }

    /// The page that is wanted next; nil when there is none, or it would be too many.
    var wanted: UInt64? { pages < Self.maxPages ? cursor : nil }

    mutating func add(_ page: DaemonMessage.SessionHistoryPage) {
        pages += 1
        if let index = page.messages.lastIndex(where: { $0.id == newest }) {
            messages = page.messages[index...] + messages
            cursor = nil
        } else {
            messages = page.messages + messages
            // A cursor that does not move would be asked for ever.
            cursor = page.nextCursor.flatMap { next in cursor.map { next < $0 } == true ? next : nil }
        }
    }
}

extension DaemonSession {
    /// As long as a page may take that is asked for while events arrive.
    private static let pagePatience: Duration = .seconds(5)

    /// Prints what was said before a page that stands for what was missed, or that it is left out.
    func tellMissed(before event: SessionEvent, _ printer: inout TurnPrinter) async {
        guard case .sessionHistoryPage(let page) = event.frame.message, page.replaces else { return }
        let missed = await missed(before: page, after: printer.newest, in: event.session)
        if missed.cursor != nil {
            output.text(printer.endLine())
            output.json(["event": "left_out", "daemon": .string(name), "session_id": .string(event.session.text)])
            output.note(
                "(more was said meanwhile than is shown here; all of it: mew history \(shellQuoted(name)) "
                    + "\(event.session.text))")
        }
        if !output.isJSON { output.text(printer.text(for: missed.messages)) }
    }

    private func missed(
        before page: DaemonMessage.SessionHistoryPage, after newest: MessageID?, in session: SessionID
    ) async -> MissedMessages {
        var missed = MissedMessages(before: page, after: newest)
        while let before = missed.wanted {
            let answer = await withTimeLimit(Self.pagePatience, on: command.context.runtime.loop) {
                try? await supervisor.olderPage(in: session, before: before, of: page.historyID)
            }
            // Refused, or not the list any more: it is told that something is left out.
            guard let older = answer.value, !older.replaces else { break }
            missed.add(older)
        }
        return missed
    }
}
