import MewWire

/// What one client is to see of the messages meant for it.
///
/// Native clients see everything as it is. A stock client gets the stock form, and a phone is spared what it would
/// misunderstand (spec/mew-wire.md §4.3, §4.10, §5.8): it takes every title and every count of open requests for its own
/// session, shows no options of questions and may not know history pages.
///
/// Pure value, one per channel, fed in the order of sending.
struct ClientView: Sendable {
    let link: ApplicationProtocol
    /// The session of this channel, from its `session_ready` on.
    private(set) var attached: SessionID?
    /// Open requests of that session; true for permissions.
    private var open: [RequestID: Bool] = [:]

    init(link: ApplicationProtocol) {
        self.link = link
    }

    /// The frames to send in place of `frame`, in order; often just itself.
    ///
    /// - Parameter kind: what the client said when it last attached. A stock client that has said nothing is taken for a
    ///   phone.
    mutating func frames(for frame: DaemonFrame, to kind: ClientKind) -> [DaemonFrame] {
        guard link == .stock else { return [frame] }
        note(frame.message)
        let isPhone = kind == .mobile || kind == .unknown
        switch frame.message {
        case .daemonState(let state): return Self.notice(state)
        case .sessionList(let list): return [DaemonFrame(.sessionList(withTitles(list)))]
        case .sessionHistoryPage(let page) where isPhone && page.replaces:
            return [DaemonFrame(.sessionHistory(.init(messages: page.messages)))]
        case .sessionTitleChanged(let change) where isPhone && change.sessionID != attached:
            return []
        case .sessionAttentionChanged(let change) where isPhone && change.sessionID != attached:
            return [frame] + ownAttention
        case .request(let request) where isPhone: return [DaemonFrame(.request(Self.withOptions(request)))]
        default: return [frame]
        }
    }

    /// Stock clients know no `daemon_state`: they are told once that nothing is being saved.
    private static func notice(_ state: DaemonMessage.DaemonState) -> [DaemonFrame] {
        guard !state.isSaving else { return [] }
        let reason = state.reason.map { ": \($0)" } ?? ""
        return [DaemonFrame(.errorEvent(.init(message: "nothing is being saved\(reason)")))]
    }

    private mutating func note(_ message: DaemonMessage) {
        switch message {
        case .sessionReady(let ready):
            attached = ready.sessionID
            open = [:]
        case .request(let request): open[request.id] = request.content.isPermission
        case .requestResolved(let resolved): open[resolved.requestID] = nil
        default: break
        }
    }

    /// The phone shows the summary where the others show the title.
    private func withTitles(_ list: DaemonMessage.SessionList) -> DaemonMessage.SessionList {
        var list = list
        for index in list.sessions.indices {
            list.sessions[index].summary = list.sessions[index].title ?? list.sessions[index].summary
        }
        return list
    }

    /// Puts the numbers right again after those of another session.
    private var ownAttention: [DaemonFrame] {
        guard let attached else { return [] }
        let permissions = open.values.count(where: { $0 })
        return [
            DaemonFrame(
                .sessionAttentionChanged(
                    .init(
                        sessionID: attached, pendingPermissions: UInt32(clamping: permissions),
                        pendingQuestions: UInt32(clamping: open.count - permissions))))
        ]
    }

    private static func withOptions(_ request: Request) -> Request {
        guard case .askUser(let questions) = request.content else { return request }
        var request = request
        request.content = .askUser(
            questions: questions.map { question in
                guard !question.options.isEmpty else { return question }
                var question = question
                question.prompt += "\n" + question.options.map { "• \($0.label)" }.joined(separator: "\n")
                return question
            })
        return request
    }
}
