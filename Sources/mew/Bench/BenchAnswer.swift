import MewBase
import MewClient
import MewWire

/// `mew bench answer`: holds the newest question of a session in its hand and answers it at a line on its standard input, so that a
/// test can let several devices go at one moment. It answers also what it has heard to be settled: that is the race.
///
/// Prints the events of the session as they are on the wire. When a question is printed, it is in the hand.
struct BenchAnswer {
    private let daemon: DaemonSession
    private let screen: Screen
    private let session: SessionID
    /// Always the same.
    private let word: String
    private let output: Output
    private var asked: PendingRequest?

    init(_ daemon: DaemonSession, _ screen: Screen, session: SessionID, word: String) {
        (self.daemon, self.screen, self.session, self.word) = (daemon, screen, session, word)
        output = daemon.output.forPrograms
    }

    /// Until the input ends or a signal comes.
    mutating func run() async throws(CommandFailure) -> ExitCode {
        output.json(["event": "ready"])
        while let input = await screen.inputs.next() {
            switch input {
            case .event(.session(let event)) where event.session == session: await hear(event)
            case .line(.some): try await answer()
            case .line(nil), .signal: return .ok
            case .event, .timer: continue
            }
        }
        return .ok
    }

    private mutating func hear(_ event: SessionEvent) async {
        if case .request(let request) = event.frame.message {
            asked = await daemon.supervisor.view.attached[session]?.requests.first { $0.id == request.id }
        }
        output.json(event)
    }

    private func answer() async throws(CommandFailure) {
        guard let asked else { throw CommandFailure(.unknownRequest, "nothing was asked yet") }
        guard let content = Answer.Content(typed: word, to: asked) else {
            throw CommandFailure(.badInput, "'\(Readers.shown(word))' is no answer")
        }
        let (supervisor, session) = (daemon.supervisor, session)
        _ = try await daemon.attempt("send the answer") { () async throws(ClientError) in
            try await supervisor.answer(asked, content, in: session)
        }
    }
}
