import MewBase
import MewWire

/// The newest messages of a session as the daemon keeps them in memory: enough for every first screen. Older ones are in the store.
///
/// Pure value. Positions count all messages of the session since it was last cleared, from 0.
struct Transcript: Sendable {
    /// Many more than a first screen shows, so that a long turn is changed in memory.
    static let keptMessages = 200
    /// Four times the largest first screen.
    static let keptBytes = 1 << 20
    /// The most that is kept behind a message that may still change: what three devices may have waiting. Beyond it, as when prompts
    /// are taken back again and again, such a message is forgotten like others; its open calls are closed first, or it would look
    /// for ever as if they ran.
    static let heldBytes = 6 << 20

    private(set) var reducer: TranscriptReducer
    /// Encoded size of each message when it was last written; 0 before.
    private var sizes: [Int]
    /// Indices of messages that changed since they were last written.
    private var dirty: Set<Int> = []
    private(set) var firstPosition: UInt64
    /// Counts changes; equal ones mean equal messages.
    private(set) var version: UInt64 = 0

    init(session: ULID, model: ModelName?) {
        reducer = TranscriptReducer(session: session, model: model)
        sizes = []
        firstPosition = 0
    }

    /// - Parameters:
    ///   - rows: the newest messages as they were stored, oldest first.
    ///   - count: the position of the next message.
    init(session: ULID, rows: [MessageRow], count: UInt64, streamingPart: PartID?, model: ModelName?) {
        let end = Self.unbrokenEnd(of: rows, before: count)
        sizes = end.map(\.bytes)
        reducer = TranscriptReducer(
            session: session, messages: end.map(\.message), streamingPart: streamingPart, model: model)
        firstPosition = count - UInt64(end.count)
    }

    /// Without a gap, or positions would be wrong. What stands before a message that is lost is in pages of the store only.
    private static func unbrokenEnd(
        of rows: [MessageRow], before count: UInt64
    ) -> [(message: Message, bytes: Int)] {
        var end: [(message: Message, bytes: Int)] = []
        for row in rows.reversed() {
            guard row.position + UInt64(end.count) + 1 == count, let message = decode(row.body) else { break }
            end.append((message, row.body.count))
        }
        return end.reversed()
    }

    static func decode(_ body: [UInt8]) -> Message? {
        guard let json = try? JSON(parsing: body) else { return nil }
        return try? Message.decode(json)
    }

    var messages: [Message] { reducer.messages }

    /// Encoded, as they were last written.
    var keptBytes: Int { sizes.reduce(0, +) }

    /// The part that is being streamed, as far as it is known.
    var streamingPart: Part? {
        guard let id = reducer.streamingPart else { return nil }
        return messages.reversed().lazy.flatMap(\.parts).first { $0.id == id }
    }

    /// The position that the next message will have.
    var count: UInt64 { firstPosition + UInt64(messages.count) }

    mutating func apply(_ message: DaemonMessage, sequence: SequenceNumber, at: WallTime) {
        let before = messages.count
        version += 1
        switch reducer.apply(message, sequence: sequence, at: at) {
        case .nothing, .prepended: break
        case .message(let index):
            sizes += [Int](repeating: 0, count: messages.count - before)
            dirty.insert(index)
        case .everything:
            sizes = [Int](repeating: 0, count: messages.count)
            dirty = Set(messages.indices)
            firstPosition = 0
        }
    }

    mutating func add(_ message: Message) {
        version += 1
        reducer.add(message)
        sizes.append(0)
        dirty.insert(messages.count - 1)
    }

    /// What the newest answer cost beyond what its end said.
    mutating func addCost(_ dollars: Double) {
        guard dollars != 0, let index = messages.lastIndex(where: { $0.assistant != nil }) else { return }
        version += 1
        reducer.addCost(dollars, toMessage: index)
        dirty.insert(index)
    }

    mutating func use(_ model: ModelName?) {
        reducer.model = model
    }

    /// For a transcript that was read from the store while a turn was on record.
    mutating func goOn(with turn: TurnID?) {
        reducer.turn = turn
    }

    /// Whether the store knows another form of a message before that position.
    func hasChanges(before position: UInt64) -> Bool {
        dirty.contains { firstPosition + UInt64($0) < position }
    }

    /// The messages from that position on, as far as they are kept.
    func messages(from position: UInt64) -> ArraySlice<Message> {
        messages.dropFirst(Int(clamping: position > firstPosition ? position - firstPosition : 0))
    }

    /// The position of the first message that events may still change: one with an open part, or the newest answer, whose next
    /// part or end is to come.
    ///
    /// - Parameter start: where the messages of the running turn begin.
    func firstUnfinished(from start: UInt64) -> UInt64? {
        let newest = messages.lastIndex { $0.role == .assistant }
        let turn = messages(from: start)
        let index = turn.indices.first { index in
            guard turn[index].role == .assistant else { return false }
            return index == newest
                || turn[index].parts.contains { $0.isOpenCall || $0.id == reducer.streamingPart }
        }
        return index.map { firstPosition + UInt64($0) }
    }

    /// The position of a message, if it is kept.
    func position(of id: MessageID) -> UInt64? {
        messages.lastIndex { $0.id == id }.map { firstPosition + UInt64($0) }
    }

    /// The rows of all messages that changed since the last call.
    mutating func takeChanges() -> [MessageRow] {
        let rows = dirty.sorted().map { index in
            let body = messages[index].encoded()
            sizes[index] = body.count
            return MessageRow(
                position: firstPosition + UInt64(index), sequence: messages[index].sequence ?? .zero, body: body)
        }
        dirty = []
        return rows
    }

    /// How many of the oldest messages are to be forgotten.
    ///
    /// - Parameter unfinished: the position of the first message that may still change.
    func excess(before unfinished: UInt64?) -> Int {
        Self.excess(of: sizes, unfinished: unfinished.map { Int($0 - firstPosition) })
    }

    /// Forgets the oldest messages. All that changed must have been taken.
    mutating func forget(_ count: Int) {
        guard count > 0 else { return }
        reducer.removeFirst(count)
        sizes.removeFirst(count)
        firstPosition += UInt64(count)
    }

    /// How many of the oldest messages are forgotten.
    ///
    /// - Parameter unfinished: what is forgotten can be changed no more, so nothing from there on is.
    static func excess(of sizes: [Int], unfinished: Int?) -> Int {
        var bytes = sizes.reduce(0, +)
        var excess = max(0, sizes.count - keptMessages)
        bytes -= sizes.prefix(excess).reduce(0, +)
        while bytes > keptBytes, excess < sizes.count - 1 {
            bytes -= sizes[excess]
            excess += 1
        }
        guard let unfinished, unfinished < excess, sizes[(unfinished + 1)...].reduce(0, +) <= heldBytes else {
            return excess
        }
        return unfinished
    }

    // MARK: - Pages

    struct Page: Sendable {
        var messages: [Message]
        /// The position of its first message; nil when there is nothing before it.
        var nextCursor: UInt64?
        /// Left out of `messages`: it is streamed again from its start.
        var openPart: Part?
    }

    /// The newest whole messages within the limits; at least one, the end of it when it is larger.
    func newest(maxMessages: Int, maxBytes: Int) -> Page {
        var page: [Message] = []
        var openPart: Part?
        var bytes = 0
        var first = messages.count
        while first > 0, page.count < maxMessages {
            let (message, open) = withoutStreamingPart(messages[first - 1])
            let size = message.encoded().count
            guard page.isEmpty || bytes + size <= maxBytes else { break }
            bytes += size
            first -= 1
            if let open { openPart = open }
            // The last one comes back with its part; others keep their place, which the part alone does not tell.
            if open != nil, message.parts.isEmpty, first + 1 == messages.count { continue }
            page.append(size > maxBytes ? message.end(within: maxBytes) : message)
        }
        let position = firstPosition + UInt64(first)
        return Page(
            messages: page.reversed(), nextCursor: position == 0 ? nil : position, openPart: openPart)
    }

    private func withoutStreamingPart(_ message: Message) -> (Message, Part?) {
        guard let id = reducer.streamingPart, let index = message.parts.lastIndex(where: { $0.id == id }) else {
            return (message, nil)
        }
        var rest = message
        let part = rest.parts.remove(at: index)
        return (rest, part)
    }
}

extension Part {
    /// Whether it is a call that neither completed nor failed.
    package var isOpenCall: Bool {
        guard case .toolCall(let call) = content else { return false }
        switch call.state.phase {
        case .pending, .running: return true
        case .completed, .error: return false
        }
    }
}
