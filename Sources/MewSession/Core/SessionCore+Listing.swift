public import MewIdentity
public import MewWire

extension SessionCore {
    /// The session's line in lists.
    public var info: SessionInfo {
        var info = record.info(id, state: runningTurn == nil ? .active : .running)
        info.clientCount = UInt32(clamping: clients.count)
        info.pendingPermissions = desk.pendingPermissions
        info.pendingQuestions = desk.pendingQuestions
        info.headSequence = journal.head
        info.turnID = runningTurn?.id
        info.leaseHolder = lease.holder
        return info
    }

    /// What a crash left on record and nobody could settle yet does not run.
    public var runningTurn: RunningTurn? { isUnsettled ? nil : record.turn }

    /// Nothing runs and nothing waits.
    public var isAtRest: Bool { isIdle && work.isEmpty && clients.isEmpty }

    /// Whose prompts, switches, commands and guidance wait. Guidance alone does not make a session busy.
    public var waitingDevices: Set<NodeID> { Set((work + guidance).map(\.work.by.node)) }

    /// A crash left something to settle, or work waits that nobody has begun.
    public var needsRecovery: Bool {
        record.turn != nil || record.process != nil || !work.isEmpty || !orphans.isEmpty || !lostWork.isEmpty
    }

    /// As much of a message as a page may have, its end; nil for one that cannot be read.
    public static func message(in row: MessageRow) -> Message? {
        let message = Transcript.decode(row.body)
        return row.body.count > PageRequest.maxBytes ? message?.end(within: PageRequest.maxBytes) : message
    }
}

extension SessionRecord {
    /// What a list says of a session that nobody has loaded.
    public func info(_ id: SessionID, state: SessionState) -> SessionInfo {
        SessionInfo(
            sessionID: id, state: state, model: model?.model, provider: model?.provider, createdAt: createdAt,
            lastMessageAt: lastMessageAt, summary: summary, cwd: cwd, workspacePath: workspacePath,
            lastTurnFailed: lastTurnFailed, archived: isArchived, pinned: isPinned, groupID: group,
            changeStats: changes, usage: usage, contextTokens: contextTokens, firstMessage: firstMessage,
            title: title, agent: agent, allowedTools: allowedTools.isEmpty ? nil : allowedTools)
    }

    /// The record in a row; nil when it cannot be read.
    public init?(in row: SessionRow) {
        guard let json = try? JSON(parsing: row.body), let record = try? SessionRecord.decode(json) else {
            return nil
        }
        self = record
    }
}
