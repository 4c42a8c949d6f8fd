public import MewBase
public import MewWire

/// Assembles the messages of a conversation from its events (spec/mew-wire.md §5.4).
///
/// The same code on both sides: the daemon keeps its history with it, a client what it shows. Pure value: feed it every
/// message of the attached session in order; what does not concern the transcript changes nothing.
///
/// `part_updated` always wins over deltas. Deltas of a part that is not the streaming one are ignored, and so is everything
/// about parts that were never seen to start. A part that starts again under the same ID replaces the one that is there: that is
/// how an open part is repeated after an attach.
public struct TranscriptReducer: Sendable {
    /// What an event did to the messages.
    public enum Change: Hashable, Sendable {
        case nothing
        /// One message was added or changed.
        case message(index: Int)
        /// All of them may be others now.
        case everything
        /// Older ones were put before the first.
        case prepended(count: Int)
    }

    /// Oldest first.
    public private(set) var messages: [Message]
    /// The text or reasoning part that deltas go to.
    public private(set) var streamingPart: PartID?
    /// Asks for the page before the first message; nil when the start of the conversation is reached or no page was seen.
    public private(set) var nextCursor: UInt64?
    /// The list that `nextCursor` counts in.
    public private(set) var history: HistoryID?
    /// What the next answer is attributed to.
    public var model: ModelName?
    /// The turn that runs, which the next answer belongs to.
    var turn: TurnID?

    /// The ULID in the session's ID, which messages carry.
    private let session: ULID
    /// Numbers the messages of daemons that give them none.
    private var nameless: UInt64 = 2

    /// A running tool's output stops growing here; the tool's own result replaces it. Bounds memory and the first screen.
    public static let maxRunningOutputBytes = 256 << 10
    /// A streamed text stops growing here, until `part_updated` brings it whole.
    public static let maxStreamedTextBytes = 1 << 20

    public init(session: ULID, messages: [Message] = [], streamingPart: PartID? = nil, model: ModelName? = nil) {
        (self.session, self.messages, self.streamingPart, self.model) = (session, messages, streamingPart, model)
    }

    /// - Parameters:
    ///   - sequence: the event's place in the journal; nil for messages that have none.
    ///   - at: when it happened, for messages whose time the event does not tell.
    @discardableResult
    public mutating func apply(_ message: DaemonMessage, sequence: SequenceNumber? = nil, at: WallTime) -> Change {
        let change = change(by: message, at: at)
        if case .message(let index) = change, let sequence { messages[index].sequence = sequence }
        return change
    }

    private mutating func change(by message: DaemonMessage, at: WallTime) -> Change {
        switch message {
        case .userMessage(let message): return add(userMessage(message, at: at))
        case .provider(let provider): return apply(provider.event, at: at)
        case .partUpdated(let update): return replace(update.part)
        case .toolProgress(let progress): return append(progress.chunk, toOutputOf: progress.callID)
        case .sessionCleared: return replaceAll([], nextCursor: nil, history: nil)
        case .sessionHistory(let history): return replaceAll(history.messages, nextCursor: nil, history: nil)
        case .sessionHistoryPage(let page) where page.replaces:
            return replaceAll(page.messages, nextCursor: page.nextCursor, history: page.historyID)
        case .sessionHistoryPage(let page): return prepend(page)
        case .slashResult(let result): return add(synthetic(result.text, at: at))
        case .sessionReady(let ready):
            model = ready.provider.flatMap { provider in
                ready.model.map { ModelName(provider: provider, model: $0) }
            }
            return .nothing
        case .modelSwitched(let switched):
            model = ModelName(provider: switched.provider, model: switched.model)
            return .nothing
        case .sessionActivityChanged(let change):
            turn = change.activity == .running ? change.turnID : nil
            return adoptOpenPart()
        default:
            return .nothing
        }
    }

    /// A part that is open when a client attaches comes before the word that a turn runs.
    private mutating func adoptOpenPart() -> Change {
        guard let turn, let place = streamingPart.flatMap({ place(of: $0) }), messages[place.message].turn == nil else {
            return .nothing
        }
        messages[place.message].turn = turn
        return .message(index: place.message)
    }

    // MARK: - Whole messages

    /// Adds a message that no event stands for.
    @discardableResult
    mutating func add(_ message: Message) -> Change {
        messages.append(message)
        return .message(index: messages.count - 1)
    }

    mutating func addCost(_ dollars: Double, toMessage index: Int) {
        messages[index].assistant?.cost += dollars
    }

    /// Forgets the oldest messages.
    package mutating func removeFirst(_ count: Int) {
        messages.removeFirst(count)
    }

    private mutating func replaceAll(_ new: [Message], nextCursor: UInt64?, history: HistoryID?) -> Change {
        (messages, streamingPart, self.nextCursor, self.history) = (new, nil, nextCursor, history)
        return .everything
    }

    private mutating func prepend(_ page: DaemonMessage.SessionHistoryPage) -> Change {
        // A page of another list does not fit before what is shown.
        guard history == nil || page.historyID == nil || history == page.historyID else { return .nothing }
        messages.insert(contentsOf: page.messages, at: 0)
        nextCursor = page.nextCursor
        return .prepended(count: page.messages.count)
    }

    private mutating func userMessage(_ message: DaemonMessage.UserMessage, at: WallTime) -> Message {
        let id = message.messageID ?? namelessID(of: message.identifiers)
        let files = message.attachments.enumerated().map { file($1, number: $0, in: id) }
        return Message(
            id: id, session: session, role: .user, parts: [text(message.text, in: id)] + files,
            time: MessageTime(created: at), turn: message.turnID)
    }

    private mutating func synthetic(_ words: String, at: WallTime) -> Message {
        let id = namelessID(of: 2)
        return Message(
            id: id, session: session, role: .assistant, parts: [text(words, in: id, isSynthetic: true)],
            time: MessageTime(created: at, completed: at))
    }

    private func text(_ words: String, in id: MessageID, isSynthetic: Bool = false) -> Part {
        .words(words, in: id, of: session, isSynthetic: isSynthetic)
    }

    private func file(_ attachment: Attachment, number: Int, in id: MessageID) -> Part {
        Part(
            id: PartID(id.ulid.advanced(by: UInt64(number + 2))), messageID: id, session: session,
            content: .file(
                Part.File(
                    mime: attachment.mime ?? "application/octet-stream",
                    filename: attachment.path.split(separator: "/").last.map(String.init), url: attachment.path)))
    }

    /// Far below every ULID with a time in it.
    ///
    /// - Parameter count: with those of its parts.
    private mutating func namelessID(of count: Int) -> MessageID {
        defer { nameless += UInt64(count) }
        return MessageID(ULID(high: 0, low: nameless))
    }

    // MARK: - The model's stream

    private mutating func apply(_ event: ProviderEvent, at: WallTime) -> Change {
        switch event {
        case .partStart(let part): return start(part, at: at)
        case .partDelta(let delta): return append(delta)
        case .partEnd(let id):
            guard id == streamingPart, let place = place(of: id) else { return .nothing }
            streamingPart = nil
            return .message(index: place.message)
        case .messageEnd(let end): return finish(end, at: at)
        case .error(let error): return fail(error)
        case .retryWait: return .nothing
        }
    }

    private mutating func start(_ part: Part, at: WallTime) -> Change {
        let isWhole = part.isSynthetic
        switch part.content {
        case .text, .reasoning: streamingPart = isWhole ? streamingPart : part.id
        case .file, .toolCall, .toolResult, .compaction: break
        }
        if place(of: part.id) != nil { return replace(part) }
        // A prompt that waits may stand behind the message that is being streamed.
        guard let index = messages.lastIndex(where: { $0.id == part.messageID && $0.role == .assistant }) else {
            return add(
                Message(
                    id: part.messageID, session: session, role: .assistant, parts: [part],
                    time: MessageTime(created: at, completed: isWhole ? at : nil), turn: turn))
        }
        messages[index].parts.append(part)
        return .message(index: index)
    }

    private mutating func append(_ delta: ProviderEvent.PartDelta) -> Change {
        guard delta.partID == streamingPart, let place = place(of: delta.partID) else { return .nothing }
        messages[place.message].parts[place.part].append(delta, upTo: Self.maxStreamedTextBytes)
        return .message(index: place.message)
    }

    private mutating func finish(_ end: ProviderEvent.MessageEnd, at: WallTime) -> Change {
        streamingPart = nil
        guard let index = messages.lastIndex(where: { $0.role == .assistant }) else { return .nothing }
        messages[index].time.completed = at
        messages[index].assistant = AssistantMeta(
            providerID: model?.provider ?? "", modelID: model?.model ?? "", cost: end.cost, tokens: end.usage,
            finish: end.finish, error: messages[index].assistant?.error, manifest: end.manifest)
        return .message(index: index)
    }

    /// A prompt that waits may stand behind the message. One that is complete and has something behind it belongs to a former turn.
    private mutating func fail(_ error: ProviderError) -> Change {
        guard let index = messages.lastIndex(where: { $0.role == .assistant }),
            index == messages.count - 1 || messages[index].time.completed == nil
        else { return .nothing }
        // Its end, if it comes, fills in the rest.
        var meta =
            messages[index].assistant
            ?? AssistantMeta(providerID: model?.provider ?? "", modelID: model?.model ?? "", tokens: Tokens())
        meta.error = error
        messages[index].assistant = meta
        return .message(index: index)
    }

    // MARK: - Parts

    private mutating func replace(_ part: Part) -> Change {
        guard let place = place(of: part.id) else { return .nothing }
        messages[place.message].parts[place.part] = part
        return .message(index: place.message)
    }

    private mutating func append(_ chunk: String, toOutputOf call: CallID) -> Change {
        for message in messages.indices.reversed() {
            for part in messages[message].parts.indices.reversed()
            where messages[message].parts[part].append(chunk, of: call, upTo: Self.maxRunningOutputBytes) {
                return .message(index: message)
            }
        }
        return .nothing
    }

    /// Parts that change are among the newest.
    private func place(of id: PartID) -> (message: Int, part: Int)? {
        for message in messages.indices.reversed() {
            if let part = messages[message].parts.lastIndex(where: { $0.id == id }) { return (message, part) }
        }
        return nil
    }
}

extension Part {
    /// The text of a message of a person. The parts of one get the identifiers after its own: the same on both sides, without
    /// being sent.
    static func words(_ text: String, in id: MessageID, of session: ULID, isSynthetic: Bool = false) -> Part {
        Part(
            id: PartID(id.ulid.successor), messageID: id, session: session,
            content: .text(Text(text: text, isSynthetic: isSynthetic)))
    }

    /// Takes the text out while it grows, so that it is not copied with every delta.
    fileprivate mutating func append(_ delta: ProviderEvent.PartDelta, upTo limit: Int) {
        switch (content, delta.field) {
        case (.text(var text), "text"), (.text(var text), ""):
            content = .toolResult(ToolResult(callID: ""))
            if text.text.utf8.count < limit { text.text += delta.delta }
            content = .text(text)
        case (.reasoning(var reasoning), "text"), (.reasoning(var reasoning), ""):
            content = .toolResult(ToolResult(callID: ""))
            if reasoning.text.utf8.count < limit { reasoning.text += delta.delta }
            content = .reasoning(reasoning)
        case (.reasoning(var reasoning), "signature"):
            reasoning.signature = delta.delta
            content = .reasoning(reasoning)
        default:
            break
        }
    }

    /// False when this is not the running call.
    fileprivate mutating func append(_ chunk: String, of call: CallID, upTo limit: Int) -> Bool {
        guard case .toolCall(var tool) = content, tool.callID == call, case .running(var output) = tool.state.phase
        else { return false }
        content = .toolResult(ToolResult(callID: ""))
        tool.state.phase = .pending
        if output.utf8.count < limit { output += chunk }
        tool.state.phase = .running(output: output)
        content = .toolCall(tool)
        return true
    }
}

extension DaemonMessage.UserMessage {
    /// How many identifiers follow each other for it: its own, its text's, and one for each file.
    var identifiers: Int { 2 + attachments.count }

    func named(_ first: ULID) -> Self {
        var message = self
        message.messageID = MessageID(first)
        return message
    }
}
