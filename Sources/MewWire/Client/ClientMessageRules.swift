// What holds for every message of a type, in one table each (spec/mew-wire.md §2.4, spec/native-wire.md §1, §2 and §5).

extension ClientMessage.Kind {
    /// The least scope that may send it.
    public var neededScope: Scope {
        switch self {
        case .remoteHello, .attachSession, .resumeSession, .loadSessionHistory, .listSessions, .listProjects,
            .listModels, .listAgents, .listPersonas, .ping, .listDir, .listFilesystemDir, .readFilePreview,
            .gitStatus, .watchWorkspace, .requestQuery:
            .observe
        case .prompt, .guide, .cancel, .permissionResponse, .askUserResponse, .planApprovalResponse, .yieldControl,
            .receiptQuery, .lease:
            .collaborate
        case .newSession, .newSessionInGroup, .deleteSession, .renameSession, .regenerateTitle, .archiveSession,
            .pinSession, .setAutoTitle, .setAutoSummary, .goalResponse, .slashCommand, .switchModel,
            .setThinkingVariant, .setPermissionMode, .forgetAllowedTools, .switchPersona, .createGroup, .updateGroup,
            .deleteGroup, .assignSessionGroup, .pinProject, .openPath, .unflagFile, .browserOpen, .browserSnapshot,
            .browserScreenshot, .browserClick, .browserFill, .browserPress, .browserClose, .terminalOpen,
            .terminalInput, .terminalResize, .terminalClose:
            .control
        }
    }

    /// Where it belongs on a native link.
    public enum Channel: Sendable, Hashable {
        case control
        /// The first message of a session channel.
        case opensSession
        /// Further messages on the channel of their session.
        case session
    }

    public var channel: Channel {
        switch self {
        case .attachSession, .newSession, .newSessionInGroup:
            .opensSession
        case .prompt, .guide, .cancel, .permissionResponse, .askUserResponse, .planApprovalResponse, .goalResponse,
            .slashCommand, .switchModel, .setThinkingVariant, .setPermissionMode, .forgetAllowedTools, .listPersonas,
            .switchPersona, .loadSessionHistory, .resumeSession:
            .session
        case .remoteHello, .ping, .listSessions, .deleteSession, .renameSession, .regenerateTitle, .archiveSession,
            .pinSession, .setAutoTitle, .setAutoSummary, .yieldControl, .listModels, .listAgents, .createGroup,
            .updateGroup, .deleteGroup, .assignSessionGroup, .listProjects, .pinProject, .listDir, .listFilesystemDir,
            .readFilePreview, .gitStatus, .watchWorkspace, .openPath, .unflagFile, .receiptQuery, .requestQuery, .lease,
            .browserOpen, .browserSnapshot, .browserScreenshot, .browserClick, .browserFill, .browserPress,
            .browserClose, .terminalOpen, .terminalInput, .terminalResize, .terminalClose:
            .control
        }
    }

    /// Whether it changes something, so that on a native link it must carry an `op_id` and is answered by receipts.
    public var changesSomething: Bool {
        switch self {
        case .newSession, .newSessionInGroup, .prompt, .guide, .cancel, .permissionResponse, .askUserResponse,
            .planApprovalResponse, .goalResponse, .slashCommand, .renameSession, .regenerateTitle, .deleteSession,
            .archiveSession, .pinSession, .switchModel, .switchPersona, .setThinkingVariant, .setPermissionMode,
            .forgetAllowedTools, .setAutoTitle, .setAutoSummary, .createGroup, .updateGroup, .deleteGroup,
            .assignSessionGroup,
            .pinProject, .unflagFile, .lease, .terminalOpen:
            true
        case .remoteHello, .ping, .listSessions, .attachSession, .resumeSession, .loadSessionHistory, .yieldControl,
            .listModels, .listPersonas, .listAgents, .listProjects, .listDir, .listFilesystemDir, .readFilePreview,
            .gitStatus, .watchWorkspace, .openPath, .receiptQuery, .requestQuery, .browserOpen, .browserSnapshot,
            .browserScreenshot, .browserClick, .browserFill, .browserPress, .browserClose, .terminalInput,
            .terminalResize,
            .terminalClose:
            false
        }
    }

    /// Whether it exists on `mew/wire/1` only.
    public var isNativeOnly: Bool {
        switch self {
        case .resumeSession, .listAgents, .receiptQuery, .requestQuery, .lease, .forgetAllowedTools: true
        default: false
        }
    }
}
