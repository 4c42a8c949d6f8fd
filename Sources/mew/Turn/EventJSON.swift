import MewClient
import MewWire

extension Output {
    /// An event of a session as it is on the wire, with its `session_id` and, on native links, its `seq` (DESIGN §10).
    func json(_ event: SessionEvent) {
        guard isJSON else { return }
        var frame = event.frame
        frame.envelope.sessionID = event.session
        frame.envelope.ref = nil
        guard let bytes = frame.encoded(for: .native) else { return }
        standard.write(String(decoding: bytes, as: UTF8.self) + "\n")
    }

    /// A message told to everyone.
    func json(_ frame: DaemonFrame) {
        guard isJSON, let bytes = frame.encoded(for: .native) else { return }
        standard.write(String(decoding: bytes, as: UTF8.self) + "\n")
    }
}

extension DaemonMessage.Kind {
    /// An event of the session, and not an answer to this client or the machinery of attaching.
    var isEventOfSession: Bool { isJournalled || self == .answerVerdict || self == .slashResult }
}
