import MewBase
import MewWire

// Messages of clients: which chapter handles which.

extension SessionCore {
    mutating func handle(_ request: ClientRequest, _ moment: Moment) {
        guard !refuseTyping(request, moment) else { return }
        switch request.message {
        case .prompt(let prompt): take(prompt, request, moment)
        case .guide(let guide): take(guide, request, moment)
        case .cancel(let cancel): take(cancel, request, moment)
        case .answer(let answer): take(answer, request, moment)
        case .slashCommand(let command): take(command, request, moment)
        case .switchModel(let model):
            take(model, request, moment)
        case .setThinkingVariant(let variant): take(variant, request, moment)
        case .switchPersona(let persona): take(persona, request, moment)
        case .setPermissionMode(let mode): take(mode, request, moment)
        case .forgetAllowedTools: forgetAllowedTools(request, moment)
        case .listPersonas: listPersonas(request)
        case .loadSessionHistory(let page): load(page, request)
        case .renameSession(let new): rename(new.title, request, moment)
        case .regenerateTitle: regenerateTitle(request, moment)
        case .archiveSession(let archive): changeMeta(request, moment) { $0.isArchived = archive.archived }
        case .pinSession(let pin): changeMeta(request, moment) { $0.isPinned = pin.pinned }
        case .assignSessionGroup(let assign): changeMeta(request, moment) { $0.group = assign.groupID }
        case .unflagFile(let file): unflag(file.path, request, moment)
        case .yieldControl: yieldControl(request)
        case .lease(let lease): take(lease, request, moment)
        default: refuse(request, .unknownType, "this message is not for a session", moment)
        }
    }

    // MARK: - Pages

    /// An older page. A cursor of a list that is no longer there gets the newest page, which replaces what the client has.
    private mutating func load(_ page: ClientMessage.LoadSessionHistory, _ request: ClientRequest) {
        guard page.historyID == nil || page.historyID == record.history else {
            return replaceList(of: request)
        }
        if transcript.hasChanges(before: page.before) { mustWriteMessages = true }
        step.effects.append(
            .loadPage(
                PageRequest(
                    client: request.client, before: page.before,
                    limit: Int(clamping: min(max(page.limit, 1), UInt64(PageRequest.maxMessages))),
                    history: record.history, asOf: journal.head, ref: request.ref)))
    }

    private mutating func replaceList(of request: ClientRequest) {
        let screen = newestScreen
        reply(screen.page, to: request)
        guard let part = screen.openPart else { return }
        step.effects.append(.send(SessionMessage(part, isReply: true), to: .client(request.client)))
    }

    // MARK: - What people call it

    /// Longer titles fit no list.
    static let maxTitleCharacters = 200

    private mutating func rename(_ title: String, _ request: ClientRequest, _ moment: Moment) {
        let title = title.singleLine
        guard !title.isEmpty, title.utf8.count <= TextLimits.nameBytes, title.count <= Self.maxTitleCharacters else {
            return refuse(
                request, .badInput, "a title has 1 to \(Self.maxTitleCharacters) characters", moment)
        }
        setTitle(title, moment)
        receive(request, .done, moment, sequence: journal.head)
    }

    private mutating func regenerateTitle(_ request: ClientRequest, _ moment: Moment) {
        guard let first = record.firstMessage else {
            return refuse(
                request, .badInput, "session has no user messages to generate a title from", moment)
        }
        setTitle(Self.title(from: first), moment)
        receive(request, .done, moment, sequence: journal.head)
    }

    mutating func setTitle(_ title: String, _ moment: Moment) {
        record.title = title
        mustSave = true
        emit(.sessionTitleChanged(.init(sessionID: id, title: title)), moment)
    }

    /// Without a model that makes titles: the first 60 characters of the first prompt (spec/mew-wire.md §4.10).
    static func title(from first: String) -> String {
        first.singleLine.beginning
    }

    private mutating func changeMeta(
        _ request: ClientRequest, _ moment: Moment, _ change: (inout SessionRecord) -> Void
    ) {
        change(&record)
        tellMeta(moment)
        receive(request, .done, moment, sequence: journal.head)
    }

    mutating func tellMeta(_ moment: Moment) {
        mustSave = true
        emit(
            .sessionMetaChanged(
                .init(
                    sessionID: id, archived: record.isArchived, pinned: record.isPinned, groupID: record.group)),
            moment)
    }

    private mutating func unflag(_ path: String, _ request: ClientRequest, _ moment: Moment) {
        record.flaggedFiles.removeAll { $0.path == path }
        mustSave = true
        emit(.flaggedFilesChanged(.init(sessionID: id, files: record.flaggedFiles)), moment)
        receive(request, .done, moment, sequence: journal.head)
    }

    // MARK: - Modes and personas

    private mutating func take(
        _ setting: ClientMessage.SetPermissionMode, _ request: ClientRequest, _ moment: Moment
    ) {
        guard let mode = PermissionMode(text: setting.mode) else {
            return refuse(request, .badInput, "unknown permission mode: \(setting.mode)", moment)
        }
        use(mode, request, moment)
    }

    private mutating func listPersonas(_ request: ClientRequest) {
        let personas = offer.personas.map {
            PersonaInfo(name: $0.name, description: $0.description, active: $0.name == record.persona)
        }
        reply(.personaList(.init(personas: personas)), to: request)
    }

    private mutating func yieldControl(_ request: ClientRequest) {
        guard let number = clientNumbers[request.client] else { return }
        tell(.controlYielded(.init(client: number)), .attached)
        yieldLease(request.by.node)
    }
}

extension String {
    /// The first 60 characters, as lists show them; fewer when these are larger than characters of any language are.
    var beginning: String {
        let maxBytes = 1_024
        var size = 0
        return String(
            prefix(60).prefix { character in
                size += character.utf8.count
                return size <= maxBytes
            })
    }

    /// In one line, without white space at its ends.
    var singleLine: String {
        split(whereSeparator: \.isNewline).joined(separator: " ").trimmed
    }

    var trimmed: String {
        let start = drop(while: \.isWhitespace)
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...last])
    }
}
