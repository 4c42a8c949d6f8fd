import MewBase
import MewClient
import MewIdentity
import MewWire
import Testing

@testable import mew

private let session = SessionID("sess_1")!  // a literal that is one

/// Events of one turn, written short.
private enum Events {
    static let text = PartID(ULID(high: 1, low: 1))
    static let tool = PartID(ULID(high: 1, low: 2))
    static let message = MessageID(ULID(high: 2, low: 1))
    static let call: CallID = "call_1"

    static func event(_ message: DaemonMessage, own: Bool = false) -> SessionEvent {
        SessionEvent(session: session, frame: DaemonFrame(message), isLive: true, isOwnEcho: own)
    }

    static func part(_ id: PartID, _ content: Part.Content) -> Part {
        Part(id: id, messageID: message, session: ULID(high: 0, low: 0), content: content)
    }

    static func start(_ text: String) -> SessionEvent {
        event(.provider(DaemonMessage.Provider(event: .partStart(part(Self.text, .text(Part.Text(text: text)))))))
    }

    static func delta(_ text: String) -> SessionEvent {
        event(
            .provider(
                DaemonMessage.Provider(
                    event: .partDelta(ProviderEvent.PartDelta(partID: Self.text, field: "text", delta: text)))))
    }

    static let end = event(.provider(DaemonMessage.Provider(event: .partEnd(text))))

    static func tool(_ phase: ToolState.Phase) -> SessionEvent {
        let state = ToolState(
            input: ["command": "ls"], phase: phase, time: ToolTime(start: WallTime(milliseconds: 1)))
        let call = Part.ToolCall(toolName: "shell", callID: call, state: state)
        return event(.partUpdated(DaemonMessage.PartUpdated(partID: tool, part: part(tool, .toolCall(call)))))
    }

    static func progress(_ chunk: String) -> SessionEvent {
        event(.toolProgress(DaemonMessage.ToolProgress(callID: call, chunk: chunk)))
    }

    static func page(_ parts: [Part]) -> SessionEvent {
        event(
            .sessionHistoryPage(
                DaemonMessage.SessionHistoryPage(
                    sessionID: session,
                    messages: [
                        Message(
                            id: message, session: ULID(high: 0, low: 0), role: .assistant, parts: parts,
                            time: MessageTime(created: WallTime(milliseconds: 1)))
                    ], replaces: true)))
    }
}

@Suite("A turn on the screen")
struct TurnPrinterTests {
    private func printed(_ events: [SessionEvent]) -> String {
        var printer = TurnPrinter(showsOwnPrompts: false)
        return events.map { printer.text(for: $0) }.joined() + printer.endLine()
    }

    @Test("text streams as it comes and ends its line")
    func streams() {
        #expect(printed([Events.start("Hel"), Events.delta("lo"), Events.end]) == "Hello\n")
    }

    @Test("a part that is replaced adds only what was not printed")
    func replaces() {
        let whole = Events.part(Events.text, .text(Part.Text(text: "Hello there")))
        let update = Events.event(.partUpdated(DaemonMessage.PartUpdated(partID: Events.text, part: whole)))
        #expect(printed([Events.start("Hel"), Events.delta("lo"), update]) == "Hello there\n")
        #expect(printed([update, update]) == "Hello there\n")
    }

    @Test("a snapshot after a gap adds only what is new")
    func snapshotAfterGap() {
        let page = Events.page([Events.part(Events.text, .text(Part.Text(text: "Hello there")))])
        #expect(printed([Events.start("Hello"), page]) == "Hello there\n")
    }

    @Test("what was said before the prompt is not repeated")
    func skipsHistory() {
        var printer = TurnPrinter(showsOwnPrompts: false)
        let old = Events.page([Events.part(Events.text, .text(Part.Text(text: "old")))])
        printer.skip(old.frame.message.history ?? [])
        #expect(printer.text(for: old) == "")
    }

    @Test("a command is shown with its output once, whether it comes in pieces, whole, or both")
    func tools() {
        let done = ToolState.Phase.completed(ToolState.Completed(output: "a\nb\n"))
        let whole = "$ ls\na\nb\n"
        #expect(
            printed([
                Events.tool(.running(output: "")), Events.progress("a\n"), Events.progress("b\n"), Events.tool(done),
            ]) == whole)
        #expect(printed([Events.tool(.running(output: "")), Events.tool(done)]) == whole)
        #expect(printed([Events.tool(.running(output: "a\n")), Events.tool(done)]) == whole)
        #expect(printed([Events.tool(done)]) == whole)
    }

    @Test("a denied call says why")
    func denied() {
        #expect(
            printed([Events.tool(.running(output: "")), Events.tool(.error("permission denied: user denied"))])
                == "$ ls\n✗ permission denied: user denied\n")
    }

    @Test("how a call failed is told once, however often a snapshot brings it, and not at all of what was before")
    func failsOnce() {
        let failed = Events.tool(.error("cancelled\na\n"))
        guard case .partUpdated(let update) = failed.frame.message else { return }
        let page = Events.page([update.part])
        #expect(printed([Events.tool(.running(output: "")), failed, page, page]) == "$ ls\n✗ cancelled\na\n")
        #expect(printed([page, failed]) == "$ ls\n✗ cancelled\na\n")
        var printer = TurnPrinter(showsOwnPrompts: true)
        printer.skip(page.frame.message.history ?? [])
        #expect(printer.text(for: page) == "" && printer.text(for: failed) == "")
    }

    @Test("a call that was cut off shows its output once, with its lines, and says why")
    func cutOff() {
        let end = Events.tool(.error("cancelled\na\nb\n"))
        let running = Events.tool(.running(output: ""))
        #expect(printed([running, Events.progress("a\n"), Events.progress("b\n"), end]) == "$ ls\na\nb\n✗ cancelled\n")
        #expect(printed([running, Events.progress("a\n"), end]) == "$ ls\na\nb\n✗ cancelled\n")
        #expect(printed([Events.tool(.running(output: "a\n")), end]) == "$ ls\na\nb\n✗ cancelled\n")
        #expect(printed([end]) == "$ ls\n✗ cancelled\na\nb\n")
        // Lines that are not the output are never left out.
        #expect(printed([running, Events.progress("x\n"), end]) == "$ ls\nx\n✗ cancelled\na\nb\n")
    }

    @Test("a message of somebody else interrupts an open line, an own one is silent")
    func prompts() {
        let by = By(
            node: SecretKey.generate(entropy: SystemEntropy()).node, name: "phone", clientKind: .mobile)
        let other = Events.event(.userMessage(DaemonMessage.UserMessage(text: "and tests", by: by)))
        #expect(printed([Events.start("Hel"), other]) == "Hel\n» phone: and tests\n")
        #expect(printed([Events.event(.userMessage(DaemonMessage.UserMessage(text: "x")), own: true)]) == "")
    }

    @Test("of a prompt that never ran the reason is printed, not the words again")
    func withdrawn() {
        let id = MessageID(ULID(high: 8, low: 8))
        let said = Events.event(.userMessage(DaemonMessage.UserMessage(text: "do x", messageID: id)))
        let part = Part(
            id: PartID(id.ulid.successor), messageID: id, session: ULID(high: 0, low: 0),
            content: .text(Part.Text(text: "do x\n(not run: cancelled by phone before its turn)")))
        let update = Events.event(.partUpdated(DaemonMessage.PartUpdated(partID: part.id, part: part)))
        #expect(printed([said, update]) == "» do x\n\n(not run: cancelled by phone before its turn)\n")
    }

    @Test("what runs unasked is told when it changes")
    func allowedTools() {
        func change(_ tools: [String]?) -> String {
            printed([Events.event(.permissionModeChanged(.init(mode: "standard", allowedTools: tools)))])
        }
        #expect(change(nil) == "(permission mode: standard)\n")
        #expect(change(["bash"]) == "(permission mode: standard; unasked from now on: bash)\n")
        #expect(change([]) == "(permission mode: standard; every tool asks again)\n")
    }

    @Test("terminal escapes from an agent are not obeyed, newlines and tabs are kept")
    func cleans() {
        #expect(printed([Events.start("\u{1B}[2J\tx\r\ny")]) == "\u{FFFD}[2J\tx\ny\n")
        #expect(printed([Events.progress("\u{1B}]0;x\u{7}")]) == "\u{FFFD}]0;x\u{FFFD}\n")
    }

    @Test("who settled a question is said")
    func resolved() {
        let by = By(node: SecretKey.generate(entropy: SystemEntropy()).node, name: "phone", clientKind: .mobile)
        let resolved = DaemonMessage.RequestResolved(
            requestID: .number(1), outcome: .answered, by: by, decision: "allow_once")
        #expect(printed([Events.event(.requestResolved(resolved))]) == "→ answered by phone: once\n")
    }
}
