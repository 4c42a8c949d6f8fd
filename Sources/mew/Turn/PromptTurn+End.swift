import MewBase
import MewClient
import MewLoop
import MewWire

// How the command ends: with its turn, or because the person leaves.

extension PromptTurn {
    var wayBack: String { "mew watch \(shellQuoted(daemon.name)) \(session.text)" }

    /// One Ctrl-C detaches, a second one in time cancels the turn, a third one leaves it cancelling. Any other signal detaches.
    mutating func signalled(_ signal: Signal) async throws(CommandFailure) -> ExitCode? {
        guard signal == .interrupt else { return leaving() }
        guard isDetaching else {
            isDetaching = true
            let waits = isWaiting
            note("detaching; the \(waits ? "prompt waits on" : "turn goes on"). Ctrl-C again now cancels it")
            output.note(verbatim: "(return: \(wayBack))")
            // What 'mew cancel' ends is the turn that runs, which is somebody else's.
            if !waits { output.note(verbatim: "(cancel: mew cancel \(shellQuoted(daemon.name)) \(session.text))") }
            await screen.schedule(.detach, after: Self.detachWindow)
            return nil
        }
        guard !isCancelling else { return leaving() }
        try await cancel()
        return nil
    }

    /// Another turn is running before it.
    private var isWaiting: Bool {
        if case .stored? = operation?.state { true } else { false }
    }

    /// Its own turn only: another one may be running while this one waits.
    private mutating func cancel() async throws(CommandFailure) {
        let turn = operation?.state.turn
        // A stock daemon names no turns; after our echo the running one is ours.
        if case .settled? = operation?.state { return note("nothing is cancelled: the turn is over") }
        guard turn != nil || stock.hasBegun else {
            return note("nothing is cancelled: \(daemon.name) has not said yet which turn this prompt is")
        }
        isCancelling = true
        note("cancelling")
        try await daemon.attempt("cancel the turn") { () async throws(ClientError) in
            _ = try await daemon.supervisor.cancel(turn: turn, in: session)
        }
    }

    func leaving() -> ExitCode {
        guard let undelivered else { return .ok }
        return output.failure(undelivered)
    }

    mutating func note(_ text: String) {
        output.text(printer.endLine())
        output.note("(\(text))")
    }

    // MARK: - The end

    mutating func ended() throws(CommandFailure) -> ExitCode? {
        guard isLive || !reach.isThere else { return nil }  // the last events are still on their way
        if let result = stock.result { return done(result.rawValue, Self.exit(result)) }
        switch operation?.state {
        case .settled? where !daemon.link.isNative:
            return nil  // how it went, the alert tells
        case .settled(let result)?:
            guard !isRunning || isOverdue else { return nil }
            let result = result ?? .completed
            return done(result.rawValue, Self.exit(result))
        case .refused(let code, let message)?:
            _ = done("refused", .refused, isTold: true)
            throw CommandFailure(
                ClientError(code, message), doing: "run the prompt", daemon: daemon.name)
        case .absent?:
            throw CommandFailure(
                .unreachable, "the prompt never reached \(daemon.name): the connection was lost on the way",
                hint: "Nothing ran, and the lost one cannot run any more; send it again.")
        case .sending?, .stored?, .delivered?, .unknown?, nil:
            return nil
        }
    }

    private static func exit(_ result: TurnResult) -> ExitCode {
        switch result {
        case .completed: .ok
        case .failed, .interrupted: .failed
        case .cancelled: .refused
        }
    }

    private func words(_ outcome: String) -> String {
        guard outcome == TurnResult.interrupted.rawValue else {
            return outcome == TurnResult.failed.rawValue ? "the turn failed" : "the turn was \(outcome)"
        }
        return "the turn was interrupted, and nothing of it runs again by itself. See how far it got with "
            + "'mew history \(shellQuoted(daemon.name)) \(session.text)'."
    }

    /// - Parameter isTold: a sentence about it follows.
    private mutating func done(_ outcome: String, _ exit: ExitCode, isTold: Bool = false) -> ExitCode {
        output.text(printer.endLine())
        output.json([
            "event": "done", "session_id": .string(session.text),
            "op_id": operationID.map { .string($0.description) } ?? .null, "outcome": .string(outcome),
        ])
        if exit != .ok, !output.isJSON, !isTold { output.warning(words(outcome)) }
        return exit
    }
}
