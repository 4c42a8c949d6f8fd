import MewBase
import MewIdentity
import MewLoop
import MewWire

extension Daemon {
    /// Names one window, so that a screen closes its own and no later one.
    package struct WindowNumber: Hashable, Sendable {
        let value: UInt64
    }

    /// A pairing window with the screen that shows it.
    struct OpenWindow {
        let number: WindowNumber
        var machine: PairingWindow
        let screen: AsyncStream<PairingEvent>.Continuation
        var timer: LoopTimer?
        /// Nobody looks at it any more.
        var isAbandoned = false
    }

    /// Lines of a screen that have not been read. They are paced (`KnockList`, `GuessLimits`), so only a screen that has
    /// stopped reading gets this far behind; its window closes, because nobody sees what happens to it.
    private static let screenLines = 256

    /// Opens the window. Its events end after `expired` or `closed`; after `paired` they go on until the reader calls
    /// `closeWindow`, which it owes in any case.
    ///
    /// - Throws: `busy` while another window is open.
    package func openWindow(
        _ request: ControlRequest.PairRequest
    ) throws(ControlError) -> (number: WindowNumber, events: AsyncStream<PairingEvent>) {
        guard windowRemaining == nil else {
            throw ControlError(
                code: "busy", message: "another pairing window is open; close that one, or wait until it expires")
        }
        guard let code = PairingDigest(bytes: request.codeDigest) else { throw .badField("code_sha256") }
        let settings = PairingWindow.Settings(
            scope: request.scope, code: code, expected: request.expected, canConfirm: request.canConfirm)
        let machine = PairingWindow(settings, openedAt: loop.now, duration: .seconds(request.seconds))
        let (events, screen) = AsyncStream<PairingEvent>.makeStream(bufferingPolicy: .bufferingOldest(Self.screenLines))
        dropWindow()
        lastWindow += 1
        let number = WindowNumber(value: lastWindow)
        window = OpenWindow(number: number, machine: machine, screen: screen)
        armWindowTimer()
        note(.info, "pairing_opened", "a pairing window is open for \(request.seconds) s")
        return (number, events)
    }

    /// An answer of the person at the screen.
    package func answerKnock(_ knock: KnockNumber, confirmed: Bool, in number: WindowNumber) {
        guard window?.number == number else { return }
        feedWindow(confirmed ? .confirm(knock) : .refuse(knock))
    }

    /// The screen is gone or the operator has enough. Nothing for a window that is closed already.
    package func closeWindow(_ number: WindowNumber) {
        guard window?.number == number else { return }
        feedWindow(.cancel)
        window?.isAbandoned = true
        dropAbandonedWindow()
    }

    /// A device that is being written down still gets its verdict from the window.
    private func dropAbandonedWindow() {
        guard let window, window.isAbandoned, !window.machine.isStoring else { return }
        dropWindow()
    }

    private func dropWindow() {
        cancelWindowTimer()
        window?.screen.finish()
        window = nil
    }

    /// What is left of an open window; nil when none is.
    package var windowRemaining: Duration? {
        guard let window, window.machine.isOpen(now: loop.now) else { return nil }
        return window.machine.remaining(now: loop.now)
    }

    // MARK: For connections

    /// Whether the open window would take this code.
    func accepts(_ code: PairingDigest?) -> Bool {
        guard let window, let code else { return false }
        return window.machine.accepts(code, now: loop.now)
    }

    /// A hello of somebody who may enter only through the window. The verdict is posted to its connection.
    func judge(_ hello: PairingWindow.Hello) {
        guard window != nil else {
            connections[hello.connection]?.post(.admission(.refused(.windowClosed)))
            return
        }
        feedWindow(.hello(hello))
    }

    func feedWindow(_ event: PairingWindow.Event) {
        guard let actions = window?.machine.receive(event, now: loop.now) else { return }
        perform(actions)
        armWindowTimer()
    }

    // MARK: Performing

    private func perform(_ actions: [PairingWindow.Action]) {
        for action in actions {
            switch action {
            case .show(let notice): show(notice)
            case .hold(let connection, let remaining): post(.held(expiresIn: remaining), to: connection)
            case .store(let grant): grantQueue.yield(grant)
            case .admit(let connection): post(.admitted, to: connection)
            case .refuse(let connection, let refusal): post(.refused(refusal), to: connection)
            }
        }
    }

    private func post(_ event: Admission.Event, to number: ConnectionNumber) {
        connections[number]?.post(.admission(event))
    }

    private func show(_ notice: PairingWindow.Notice) {
        let event = PairingEvent(notice)
        note(.info, "pairing_\(event.name)", "pairing: \(event.name)", fields: event.logFields)
        if case .dropped? = window?.screen.yield(event) { window?.screen.finish() }
        switch event {
        case .expired, .closed: dropWindow()
        default: break
        }
    }

    /// Runs as long as the daemon: writes down the devices that the window lets in.
    func storeGrants() async {
        for await grant in grants {
            let device = Device(
                node: grant.node, name: grant.name ?? String(grant.node.z32.prefix(8)), scope: grant.scope,
                pairedAtMs: surroundings.wall.millisecondsSinceEpoch, spentCode: window?.machine.code(spentBy: grant))
            feedWindow(.stored(await pair(device)))
            dropAbandonedWindow()
        }
    }

    // MARK: Time

    private func armWindowTimer() {
        cancelWindowTimer()
        guard let deadline = window?.machine.nextDeadline else { return }
        window?.timer = loop.schedule(at: deadline) { [weak self] in
            self?.assumeIsolated { $0.windowDeadlinePassed() }
        }
    }

    private func windowDeadlinePassed() {
        guard let actions = window?.machine.deadlinePassed(now: loop.now) else { return }
        perform(actions)
        armWindowTimer()
    }

    private func cancelWindowTimer() {
        guard let timer = window?.timer else { return }
        loop.cancel(timer)
        window?.timer = nil
    }
}

extension PairingEvent {
    /// What a log may say about it.
    fileprivate var logFields: [String: Diagnostic.Value] {
        switch self {
        case .knock(_, let node, let name, _), .paired(let node, let name, _, _):
            ["node": .text("\(node)"), "name": .text(name ?? "")]
        case .turnedAway(let node, let reason): ["node": .text("\(node)"), "reason": .text(reason)]
        case .wrongCode(let node, let tries): ["node": .text("\(node)"), "tries": .integer(Int64(tries))]
        case .shutOut(let node), .notSaved(let node), .usedAgain(let node): ["node": .text("\(node)")]
        case .slowed(let source): ["source": .text(source)]
        case .knockLeft, .noSuchKnock, .expired, .closed: [:]
        }
    }
}
