import MewClient

/// What the app remembers. A real one writes `records.stored` to a file before `update` returns, and reads it at its start:
/// then a restart loses no operation and no draft.
actor PocketRecords: ClientStore {
    nonisolated let instance = ClientInstance("this run of the app")
    private var kept = ClientRecords()

    nonisolated func isRunning(_ instance: ClientInstance) -> Bool { instance == self.instance }

    func records() -> ClientRecords { kept }

    func update<Value: Sendable>(
        _ change: @Sendable (inout ClientRecords) throws(ClientStoreError) -> Value
    ) throws(ClientStoreError) -> Value {
        var next = kept
        let value = try change(&next)
        kept = next
        return value
    }
}

/// A daemon in the pocket: shows one of its sessions, asks the person what the agent asks, says what the person says.
struct PocketApp: Sendable {
    private let daemon: DaemonSupervisor
    private let session: SessionID
    /// Draws everything anew; the last picture stays on any loss.
    private let draw: @Sendable (String) -> Void
    /// Shows a question; true when the person allows it. Ends when its task is cancelled.
    private let allows: @Sendable (String) async -> Bool

    /// - Parameter dialer: brings connections about, under the key of this device; `wallClock` is the phone's.
    init(
        _ desk: DaemonRecord, session: SessionID, dialer: any Dialer, wallClock: @escaping @Sendable () -> WallTime,
        draw: @escaping @Sendable (String) -> Void, allows: @escaping @Sendable (String) async -> Bool
    ) async throws(ClientStoreError) {
        let records = PocketRecords()
        try await records.update { records in _ = try? records.registry.add(desk) }
        let environment = ClientEnvironment(
            dialer: dialer, clock: ContinuousClock(), wallClock: wallClock, entropy: SystemEntropy(), store: records,
            deviceName: "pocket", app: "pocket 1.0", clientKind: .mobile)
        daemon = DaemonSupervisor(record: desk, environment: environment)
        (self.session, self.draw, self.allows) = (session, draw, allows)
    }

    /// Stays until it is cancelled: dials, and dials again after every loss.
    func run() async {
        let events = await daemon.subscribe()
        // An unread feed stops the connection: what takes longer than drawing has a task of its own.
        let (news, pen) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withDiscardingTaskGroup { group in
            group.addTask { await daemon.run() }
            group.addTask { for await _ in news { await askPerson() } }
            for await event in events {
                let view = await daemon.view
                if case .phase(.ready) = event, view.attached[session] == nil {
                    // Once: after a loss the library attaches again, from the last event it has.
                    group.addTask { try? await daemon.attach(session) }
                }
                draw(picture(of: view))
                pen.yield()
            }
            group.cancelAll()
        }
    }

    private func picture(of view: DaemonView) -> String {
        let lines = view.attached[session]?.shown.transcript.messages.map(Self.text).joined(separator: "\n") ?? ""
        switch view.phase {
        case .waiting(_, let trouble): return lines + "\n(\(ClientError(trouble).message))"
        case .parked(let refusal): return lines + "\n(\(ClientError(refusal).message): mend that, then retry)"
        case .idle, .dialing, .greeting, .pairing, .ready: return lines
        }
    }

    private func askPerson() async {
        guard let open = await daemon.view.attached[session], open.phase == .live,
            let request = open.shown.requests.first(where: { $0.answering == .open && $0.content.isPermission })
        else { return }
        // Exactly this text was on the screen: the answer carries its digest. Who goes away has not said no.
        let decision: PermissionDecision = await allows(request.content.shownText) ? .allowOnce : .deny
        if !Task.isCancelled { _ = try? await daemon.answer(request, .permission(decision), in: session) }
    }

    /// Returns when it is on its way; the receipts come as events. The draft stays until the daemon has it.
    func say(_ text: String) async throws(ClientError) {
        try await daemon.write(text, to: session)
        _ = try await daemon.promptDraft(in: session)
    }

    func wentToBackground() async { await daemon.enterBackground() }
    func cameToFront() async { await daemon.enterForeground() }
    func retry() async { await daemon.retry() }

    private static func text(_ message: Message) -> String {
        message.parts.map { part in if case .text(let text) = part.content { text.text } else { "…" } }.joined()
    }
}
