import MewBase
import MewClient
import MewWire

/// Turns the events of a session into the lines a person reads. Streams: what was printed is never taken back.
///
/// A value that returns text; nothing here writes.
struct TurnPrinter {
    /// How much of each part is on the screen already, so that a snapshot after a gap adds only what is new. Of a call: its title, or
    /// how it failed as well.
    private var printed: [PartID: Int] = [:]
    /// The last message of which anything was printed or skipped.
    private(set) var newest: MessageID?
    private var progress: [CallID: Shown] = [:]
    /// Messages of people that were printed or skipped.
    private var said: Set<MessageID> = []
    private var atLineStart = true
    private var openPart: PartID?
    /// The last error; the daemon makes a message of it, too.
    private var told: String?
    /// Own prompts are not repeated to who typed them.
    let showsOwnPrompts: Bool
    /// Of the devices that were told of.
    var names: DistinctNames

    /// How much of a call's output is on the screen, in scalars, and how it begins.
    private struct Shown {
        var count = 0
        var beginning = ""

        mutating func add(_ text: String) {
            count += text.unicodeScalars.count
            if beginning.isEmpty { beginning = String(text.prefix(64)) }
        }
    }

    private static let titlePrinted = 1
    private static let failurePrinted = 2
    /// Parts of one session on one screen; far more than a person scrolls back over.
    private static let maxParts = 10_000

    /// - Parameter names: of this device, so that another one of its name is shown under a longer one.
    init(showsOwnPrompts: Bool, names: DistinctNames = DistinctNames([])) {
        (self.showsOwnPrompts, self.names) = (showsOwnPrompts, names)
    }

    /// The text to print for an event; empty for most.
    mutating func text(for event: SessionEvent) -> String {
        switch event.frame.message {
        case .userMessage(let message):
            if let id = message.messageID {
                heard(id)
                // A word may be added to it, when nothing comes of it.
                remember(message.text, of: PartID(id.ulid.successor))
            }
            guard !event.isOwnEcho || showsOwnPrompts else { return "" }
            let who = message.by.map { names.name(of: $0) + ": " } ?? ""
            return line("» \(who)\(message.text.printableLines)")
                + message.attachments.map { line("(file \($0.path.printable(limit: 200)))") }.joined()
        case .provider(let provider): return text(for: provider.event)
        case .partUpdated(let update): return text(for: update.part)
        case .toolProgress(let progress): return self.progress(progress)
        case .errorEvent(let error):
            told = error.message
            return line("! \(error.message.printable(limit: 2_000))")
        case .requestResolved(let resolved): return line(words(for: resolved))
        case .slashResult(let result): return line(result.text.printableLines)
        case .modelSwitched(let switched):
            return line("(model: \(switched.provider.printableName)/\(switched.model.printableName))")
        case .permissionModeChanged(let change): return line("(\(Self.words(for: change)))")
        case .sessionCleared: return line("(the context was cleared)")
        case .subagentStart(let start):
            return line("(subagent \((start.displayName ?? start.name).printableName) started)")
        case .subagentEnd(let end): return line("(subagent ended: \(Self.words(for: end.outcome)))")
        case .jobUpdate(let job):
            return line("(job \(job.command.printable(limit: 100)): \(job.state.printable(limit: 60)))")
        case .sessionHistoryPage(let page): return page.replaces ? text(for: page.messages) : ""
        case .sessionHistory(let history): return text(for: history.messages)
        default: return ""
        }
    }

    /// Ends an open line, so that something else can be printed.
    mutating func endLine() -> String {
        defer { atLineStart = true }
        return atLineStart ? "" : "\n"
    }

    /// Text that was on the screen before this printer began: from now on only what comes after it is printed.
    mutating func skip(_ messages: [Message]) {
        for message in messages {
            if message.role == .user { heard(message.id) }
            for part in message.parts { remember(part) }
        }
    }

    private mutating func heard(_ id: MessageID) {
        newest = id
        if said.count >= Self.maxParts { said = [] }
        said.insert(id)
    }

    private mutating func remember(_ text: String, of part: PartID) {
        if printed.count >= Self.maxParts { printed = [:] }
        printed[part] = text.unicodeScalars.count
    }

    private mutating func remember(_ part: Part) {
        if printed.count >= Self.maxParts { printed = [:] }
        newest = part.messageID
        switch part.content {
        case .text(let text): printed[part.id] = text.text.unicodeScalars.count
        case .toolCall(let call):
            printed[part.id] = call.state.phase.isFailure ? Self.failurePrinted : Self.titlePrinted
            progress[call.callID, default: Shown()].add(Self.output(of: call))
        case .reasoning, .file, .toolResult, .compaction: break
        }
    }

    // MARK: - Streaming

    private mutating func text(for event: ProviderEvent) -> String {
        switch event {
        case .partStart(let part):
            if part.isSynthetic, let told, part.content.text?.text == told {
                remember(part)
                return ""
            }
            openPart = part.id
            return text(for: part)
        case .partDelta(let delta):
            guard delta.partID == openPart, delta.field == "text" || delta.field.isEmpty, printed[delta.partID] != nil
            else { return "" }
            printed[delta.partID, default: 0] += delta.delta.unicodeScalars.count
            return write(delta.delta.printableLines)
        case .partEnd(let id):
            guard id == openPart else { return "" }
            openPart = nil
            return printed[id] == nil ? "" : endLine()
        case .messageEnd: return endLine()
        case .retryWait(let wait):
            return line("(\(wait.reason.printable(limit: 200)); trying again in \(wait.delaySeconds) s)")
        case .error(let error): return line("! \(error.message.printable(limit: 2_000))")
        }
    }

    private mutating func text(for part: Part) -> String {
        newest = part.messageID
        switch part.content {
        case .text(let text): return rest(of: text.text, part.id)
        case .toolCall(let call): return text(for: call, part.id)
        case .reasoning, .file, .toolResult, .compaction: return ""
        }
    }

    /// What a part says beyond what is printed of it.
    private mutating func rest(of text: String, _ id: PartID) -> String {
        let scalars = text.unicodeScalars
        let known = printed[id] ?? 0
        guard scalars.count > known || printed[id] == nil else { return "" }
        let rest = String(String.UnicodeScalarView(scalars.dropFirst(known)))
        printed[id] = scalars.count
        return write(rest.printableLines)
    }

    /// Messages that nobody heard live.
    mutating func text(for messages: [Message]) -> String {
        messages.map { message in
            newest = message.id
            return message.role == .user ? prompt(message) : message.parts.map { text(for: $0) + endLine() }.joined()
        }.joined()
    }

    /// What a person said while nobody heard it here. Who does not show his own prompts could not tell them from others.
    private mutating func prompt(_ message: Message) -> String {
        guard showsOwnPrompts, !said.contains(message.id) else { return "" }
        heard(message.id)
        let text = MessageText(message).text
        return text.isEmpty ? "" : line(text)
    }

    // MARK: - Tools

    private mutating func text(for call: Part.ToolCall, _ id: PartID) -> String {
        var result = ""
        if printed[id] == nil, call.state.phase != .pending {
            printed[id] = Self.titlePrinted
            result += line(Self.title(of: call))
        }
        result += output(Self.output(of: call), call.callID)
        switch call.state.phase {
        case .pending, .running: break
        case .completed: result += endLine()
        case .error where printed[id] == Self.failurePrinted: break
        case .error(let error):
            printed[id] = Self.failurePrinted
            result += failure(error, call.callID)
        }
        return result
    }

    /// The reason, and what follows it unless that is the output which is on the screen already.
    private mutating func failure(_ error: String, _ call: CallID) -> String {
        let (reason, rest) = Self.split(error)
        let shown = progress[call] ?? Shown()
        guard !rest.isEmpty else { return line("✗ \(reason)") }
        guard shown.count > 0, rest.hasPrefix(shown.beginning) else {
            return line("✗ \(reason)") + write(rest.printableLines) + endLine()
        }
        return output(rest, call) + line("✗ \(reason)")
    }

    private static func split(_ error: String) -> (reason: String, rest: String) {
        let lines = error.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        return ((lines.first ?? "").description.printable(limit: 2_000), lines.dropFirst().first?.description ?? "")
    }

    private static func title(of call: Part.ToolCall) -> String {
        let input = call.state.input
        if let command = input["command"]?.asString { return "$ " + command.printableLines }
        let summary = input.asObject?.entries.map { entry in
            "\(entry.key.printable(limit: 40))=\((entry.value.asString ?? entry.value.text).printable(limit: 80))"
        }
        return "⚙ \(call.toolName.printableName) \((summary ?? []).joined(separator: " "))"
    }

    private static func output(of call: Part.ToolCall) -> String {
        switch call.state.phase {
        case .pending, .error: ""
        case .running(let output): output
        case .completed(let completed): completed.output
        }
    }

    private mutating func output(_ whole: String, _ call: CallID) -> String {
        let scalars = whole.unicodeScalars
        let known = progress[call]?.count ?? 0
        guard scalars.count > known else { return "" }
        let rest = String(String.UnicodeScalarView(scalars.dropFirst(known)))
        progress[call, default: Shown()].add(rest)
        return write(rest.printableLines)
    }

    private mutating func progress(_ chunk: DaemonMessage.ToolProgress) -> String {
        if progress.count >= Self.maxParts { progress = [:] }
        progress[chunk.callID, default: Shown()].add(chunk.chunk)
        return write(chunk.chunk.printableLines)
    }

    // MARK: - Lines

    private mutating func write(_ text: String) -> String {
        guard !text.isEmpty else { return "" }
        atLineStart = text.last == "\n"
        return text
    }

    private mutating func line(_ text: String) -> String {
        defer { atLineStart = true }
        return (atLineStart ? "" : "\n") + text + "\n"
    }

    private mutating func words(for resolved: DaemonMessage.RequestResolved) -> String {
        switch resolved.outcome {
        case .answered:
            let who = resolved.by.map { " by \(names.name(of: $0))" } ?? ""
            return
                "→ answered\(who)\(resolved.decision.map { ": \(AnswerReader.word($0).printable(limit: 40))" } ?? "")"
        case .cancelled: return "→ the question was cancelled"
        case .turnEnded: return "→ the question is closed: its turn has ended"
        case nil: return "→ the question is closed"
        }
    }

    private static func words(for change: DaemonMessage.PermissionModeChanged) -> String {
        let mode = "permission mode: \(change.mode.printableName)"
        guard let tools = change.allowedTools else { return mode }
        guard !tools.isEmpty else { return mode + "; every tool asks again" }
        return mode + "; unasked from now on: \(tools.map(\.printableName).joined(separator: ", "))"
    }

    private static func words(for outcome: SubagentOutcome) -> String {
        switch outcome {
        case .completed: "completed"
        case .cancelled: "cancelled"
        case .failed(let reason): "failed: \(reason.printable(limit: 200))"
        }
    }
}

extension ToolState.Phase {
    fileprivate var isFailure: Bool { if case .error = self { true } else { false } }
}
