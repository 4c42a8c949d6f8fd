extension ClientMessage {
    /// The session that the message itself names, on every kind of link.
    public var sessionID: SessionID? {
        switch self {
        case .attachSession(let m): m.sessionID
        case .resumeSession(let m): m.sessionID
        case .loadSessionHistory(let m): m.sessionID
        case .deleteSession(let m): m.sessionID
        case .renameSession(let m): m.sessionID
        case .regenerateTitle(let m): m.sessionID
        case .archiveSession(let m): m.sessionID
        case .pinSession(let m): m.sessionID
        case .assignSessionGroup(let m): m.sessionID
        case .listDir(let m): m.sessionID
        case .readFilePreview(let m): m.sessionID
        case .gitStatus(let m): m.sessionID
        case .watchWorkspace(let m): m.sessionID
        case .openPath(let m): m.sessionID
        case .unflagFile(let m): m.sessionID
        default: nil
        }
    }
}

extension DaemonMessage {
    /// The session that the message itself names, on every kind of link.
    public var sessionID: SessionID? {
        switch self {
        case .sessionReady(let m): m.sessionID
        case .sessionHistoryPage(let m): m.sessionID
        case .caughtUp(let m): m.sessionID
        case .gap(let m): m.sessionID
        case .sessionTitleChanged(let m): m.sessionID
        case .sessionSummaryChanged(let m): m.sessionID
        case .sessionActivityChanged(let m): m.sessionID
        case .sessionUsageChanged(let m): m.sessionID
        case .sessionStatsChanged(let m): m.sessionID
        case .sessionMetaChanged(let m): m.sessionID
        case .sessionAttentionChanged(let m): m.sessionID
        case .sessionAlert(let m): m.sessionID
        case .flaggedFilesChanged(let m): m.sessionID
        case .dirListing(let m): m.sessionID
        case .receipt(let m): m.sessionID
        default: nil
        }
    }
}
