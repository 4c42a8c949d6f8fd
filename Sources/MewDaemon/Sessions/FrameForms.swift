import MewSession
import MewWire

/// One message in the forms that different clients get, each made once.
struct FrameForms {
    private let message: DaemonMessage
    private let session: SessionID?
    /// The journalled event that the message is; attached native channels get its bytes.
    private let event: EventRow?
    private let ref: String?
    private var native: [UInt8]??
    private var stock: [UInt8]??
    private var phone: [UInt8]??

    init(_ message: DaemonMessage, session: SessionID?, event: EventRow? = nil, ref: String? = nil) {
        (self.message, self.session, self.event, self.ref) = (message, session, event, ref)
    }

    /// Nil when the message does not exist for such a client.
    ///
    /// - Parameter isAttached: to the session that the message is about.
    mutating func bytes(for client: SessionClient, isAttached: Bool) -> [UInt8]? {
        switch client.role {
        case .session:
            if let event, isAttached { return event.body }
            return nativeBytes()
        case .control:
            return nativeBytes()
        case .stock:
            return client.mayBePhone ? phoneBytes(isAttached: isAttached) : stockBytes()
        }
    }

    private mutating func nativeBytes() -> [UInt8]? {
        if let native { return native }
        let made = DaemonFrame(message, sessionID: session, ref: ref).encoded(for: .native)
        native = made
        return made
    }

    private mutating func stockBytes() -> [UInt8]? {
        if let stock { return stock }
        let made = stockMessage.flatMap { DaemonFrame($0).encoded(for: .stock) }
        stock = made
        return made
    }

    /// Stock clients know no `daemon_state`: they are told once that nothing is being saved.
    private var stockMessage: DaemonMessage? {
        guard case .daemonState(let state) = message else { return message }
        guard !state.isSaving else { return nil }
        return .errorEvent(.init(message: "nothing is being saved\(state.reason.map { ": \($0)" } ?? "")"))
    }

    /// True when a phone takes the message for one about its own session although it is not (spec/mew-wire.md §5.8).
    func misleads(_ client: SessionClient, isAttached: Bool) -> Bool {
        guard case .sessionAttentionChanged = message else { return false }
        return !isAttached && client.mayBePhone
    }

    /// What the stock phone app needs told otherwise (spec/mew-wire.md §4.10 and §5.8).
    private mutating func phoneBytes(isAttached: Bool) -> [UInt8]? {
        switch message {
        case .sessionTitleChanged:
            // It takes every title for that of its own session.
            return isAttached ? stockBytes() : nil
        case .request(let request):
            guard case .askUser(let questions) = request.content else { return stockBytes() }
            if let phone { return phone }
            let made = DaemonFrame(.request(request.spelledOut(questions))).encoded(for: .stock)
            phone = made
            return made
        case .sessionList(let list):
            if let phone { return phone }
            let made = DaemonFrame(.sessionList(.init(sessions: list.sessions.map(\.titled)))).encoded(for: .stock)
            phone = made
            return made
        default:
            return stockBytes()
        }
    }
}

extension SessionClient {
    /// A message about the daemon itself, in the form that this client gets.
    func tell(_ message: DaemonMessage) {
        var forms = FrameForms(message, session: nil)
        if let bytes = forms.bytes(for: self, isAttached: false) { _ = push(bytes, .reply) }
    }
}

extension Request {
    /// The phone shows the text of questions only, so the options go into it.
    fileprivate func spelledOut(_ questions: [Question]) -> Request {
        var request = self
        request.content = .askUser(
            questions: questions.map { question in
                guard !question.options.isEmpty else { return question }
                let options = question.options.map(\.label).joined(separator: " / ")
                return Question(prompt: "\(question.prompt) (\(options))", options: question.options)
            })
        return request
    }
}

extension SessionInfo {
    /// The phone shows the summary, and has no other place for a title.
    fileprivate var titled: SessionInfo {
        var info = self
        info.summary = info.title ?? info.summary
        return info
    }
}

extension SessionClient {
    /// A stock client that has not said what it is may be a phone.
    var mayBePhone: Bool { role == .stock && (kind == .mobile || kind == .unknown) }
}
