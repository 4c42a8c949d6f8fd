/// A message from a client to a daemon: every type of spec/mew-wire.md §3.1 and of spec/native-wire.md §2.
///
/// Each payload stands in the file of its family, with what it means and how it is answered. A new type takes four lines here
/// and one in `ClientMessageRules.swift`; the compiler asks for each.
public enum ClientMessage: Sendable, Equatable {
    case remoteHello(RemoteHello)
    case ping
    case listSessions
    case newSession(NewSession)
    case newSessionInGroup(NewSessionInGroup)
    case attachSession(AttachSession)
    case resumeSession(ResumeSession)
    case loadSessionHistory(LoadSessionHistory)
    case deleteSession(DeleteSession)
    case renameSession(RenameSession)
    case regenerateTitle(RegenerateTitle)
    case archiveSession(ArchiveSession)
    case pinSession(PinSession)
    case setAutoTitle(SetAutoTitle)
    case setAutoSummary(SetAutoSummary)
    case yieldControl

    case prompt(Prompt)
    case guide(Guide)
    case cancel(Cancel)
    /// Each of the four answers.
    case answer(Answer)
    case slashCommand(SlashCommand)

    case listModels
    case switchModel(SwitchModel)
    case setThinkingVariant(SetThinkingVariant)
    case setPermissionMode(SetPermissionMode)
    /// Every tool asks again, whatever was allowed for the session.
    case forgetAllowedTools
    case listPersonas
    case switchPersona(SwitchPersona)
    case listAgents

    case createGroup(CreateGroup)
    case updateGroup(UpdateGroup)
    case deleteGroup(DeleteGroup)
    case assignSessionGroup(AssignSessionGroup)
    case listProjects
    case pinProject(PinProject)

    case listDir(ListDir)
    case listFilesystemDir(ListFilesystemDir)
    case readFilePreview(ReadFilePreview)
    case gitStatus(GitStatus)
    case watchWorkspace(WatchWorkspace)
    case openPath(OpenPath)
    case unflagFile(UnflagFile)

    case receiptQuery(ReceiptQuery)
    case requestQuery(RequestQuery)
    case lease(Lease)

    case browserOpen(BrowserOpen)
    case browserSnapshot(BrowserSnapshot)
    case browserScreenshot(BrowserScreenshot)
    case browserClick(BrowserClick)
    case browserFill(BrowserFill)
    case browserPress(BrowserPress)
    case browserClose(BrowserClose)

    case terminalOpen(TerminalOpen)
    case terminalInput(TerminalInput)
    case terminalResize(TerminalResize)
    case terminalClose(TerminalClose)
}

extension ClientMessage {
    /// The strings of `type`.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case remoteHello = "remote_hello"
        case ping
        case listSessions = "list_sessions"
        case newSession = "new_session"
        case newSessionInGroup = "new_session_in_group"
        case attachSession = "attach_session"
        case resumeSession = "resume_session"
        case loadSessionHistory = "load_session_history"
        case deleteSession = "delete_session"
        case renameSession = "rename_session"
        case regenerateTitle = "regenerate_title"
        case archiveSession = "archive_session"
        case pinSession = "pin_session"
        case setAutoTitle = "set_auto_title"
        case setAutoSummary = "set_auto_summary"
        case yieldControl = "yield_control"

        case prompt
        case guide
        case cancel
        case permissionResponse = "permission_response"
        case askUserResponse = "ask_user_response"
        case planApprovalResponse = "plan_approval_response"
        case goalResponse = "goal_response"
        case slashCommand = "slash_command"

        case listModels = "list_models"
        case switchModel = "switch_model"
        case setThinkingVariant = "set_thinking_variant"
        case setPermissionMode = "set_permission_mode"
        case forgetAllowedTools = "forget_allowed_tools"
        case listPersonas = "list_personas"
        case switchPersona = "switch_persona"
        case listAgents = "list_agents"

        case createGroup = "create_group"
        case updateGroup = "update_group"
        case deleteGroup = "delete_group"
        case assignSessionGroup = "assign_session_group"
        case listProjects = "list_projects"
        case pinProject = "pin_project"

        case listDir = "list_dir"
        case listFilesystemDir = "list_filesystem_dir"
        case readFilePreview = "read_file_preview"
        case gitStatus = "git_status"
        case watchWorkspace = "watch_workspace"
        case openPath = "open_path"
        case unflagFile = "unflag_file"

        case receiptQuery = "receipt_query"
        case requestQuery = "request_query"
        case lease

        case browserOpen = "browser_open"
        case browserSnapshot = "browser_snapshot"
        case browserScreenshot = "browser_screenshot"
        case browserClick = "browser_click"
        case browserFill = "browser_fill"
        case browserPress = "browser_press"
        case browserClose = "browser_close"

        case terminalOpen = "terminal_open"
        case terminalInput = "terminal_input"
        case terminalResize = "terminal_resize"
        case terminalClose = "terminal_close"
    }

    public var kind: Kind { parts.kind }

    /// The type and the fields that follow it.
    var parts: (kind: Kind, payload: any Record) {
        switch self {
        case .remoteHello(let m): (.remoteHello, m)
        case .ping: (.ping, NoFields())
        case .listSessions: (.listSessions, NoFields())
        case .newSession(let m): (.newSession, m)
        case .newSessionInGroup(let m): (.newSessionInGroup, m)
        case .attachSession(let m): (.attachSession, m)
        case .resumeSession(let m): (.resumeSession, m)
        case .loadSessionHistory(let m): (.loadSessionHistory, m)
        case .deleteSession(let m): (.deleteSession, m)
        case .renameSession(let m): (.renameSession, m)
        case .regenerateTitle(let m): (.regenerateTitle, m)
        case .archiveSession(let m): (.archiveSession, m)
        case .pinSession(let m): (.pinSession, m)
        case .setAutoTitle(let m): (.setAutoTitle, m)
        case .setAutoSummary(let m): (.setAutoSummary, m)
        case .yieldControl: (.yieldControl, NoFields())
        case .prompt(let m): (.prompt, m)
        case .guide(let m): (.guide, m)
        case .cancel(let m): (.cancel, m)
        case .answer(let m): (m.content.kind, m)
        case .slashCommand(let m): (.slashCommand, m)
        case .listModels: (.listModels, NoFields())
        case .switchModel(let m): (.switchModel, m)
        case .setThinkingVariant(let m): (.setThinkingVariant, m)
        case .setPermissionMode(let m): (.setPermissionMode, m)
        case .forgetAllowedTools: (.forgetAllowedTools, NoFields())
        case .listPersonas: (.listPersonas, NoFields())
        case .switchPersona(let m): (.switchPersona, m)
        case .listAgents: (.listAgents, NoFields())
        case .createGroup(let m): (.createGroup, m)
        case .updateGroup(let m): (.updateGroup, m)
        case .deleteGroup(let m): (.deleteGroup, m)
        case .assignSessionGroup(let m): (.assignSessionGroup, m)
        case .listProjects: (.listProjects, NoFields())
        case .pinProject(let m): (.pinProject, m)
        case .listDir(let m): (.listDir, m)
        case .listFilesystemDir(let m): (.listFilesystemDir, m)
        case .readFilePreview(let m): (.readFilePreview, m)
        case .gitStatus(let m): (.gitStatus, m)
        case .watchWorkspace(let m): (.watchWorkspace, m)
        case .openPath(let m): (.openPath, m)
        case .unflagFile(let m): (.unflagFile, m)
        case .receiptQuery(let m): (.receiptQuery, m)
        case .requestQuery(let m): (.requestQuery, m)
        case .lease(let m): (.lease, m)
        case .browserOpen(let m): (.browserOpen, m)
        case .browserSnapshot(let m): (.browserSnapshot, m)
        case .browserScreenshot(let m): (.browserScreenshot, m)
        case .browserClick(let m): (.browserClick, m)
        case .browserFill(let m): (.browserFill, m)
        case .browserPress(let m): (.browserPress, m)
        case .browserClose(let m): (.browserClose, m)
        case .terminalOpen(let m): (.terminalOpen, m)
        case .terminalInput(let m): (.terminalInput, m)
        case .terminalResize(let m): (.terminalResize, m)
        case .terminalClose(let m): (.terminalClose, m)
        }
    }

    init(_ kind: Kind, from f: inout Fields) throws(FieldError) {
        switch kind {
        case .remoteHello: self = .remoteHello(try .init(&f, nil))
        case .ping: self = .ping
        case .listSessions: self = .listSessions
        case .newSession: self = .newSession(try .init(&f, nil))
        case .newSessionInGroup: self = .newSessionInGroup(try .init(&f, nil))
        case .attachSession: self = .attachSession(try .init(&f, nil))
        case .resumeSession: self = .resumeSession(try .init(&f, nil))
        case .loadSessionHistory: self = .loadSessionHistory(try .init(&f, nil))
        case .deleteSession: self = .deleteSession(try .init(&f, nil))
        case .renameSession: self = .renameSession(try .init(&f, nil))
        case .regenerateTitle: self = .regenerateTitle(try .init(&f, nil))
        case .archiveSession: self = .archiveSession(try .init(&f, nil))
        case .pinSession: self = .pinSession(try .init(&f, nil))
        case .setAutoTitle: self = .setAutoTitle(try .init(&f, nil))
        case .setAutoSummary: self = .setAutoSummary(try .init(&f, nil))
        case .yieldControl: self = .yieldControl
        case .prompt: self = .prompt(try .init(&f, nil))
        case .guide: self = .guide(try .init(&f, nil))
        case .cancel: self = .cancel(try .init(&f, nil))
        case .permissionResponse, .askUserResponse, .planApprovalResponse, .goalResponse:
            self = .answer(try .init(&f, nil))
        case .slashCommand: self = .slashCommand(try .init(&f, nil))
        case .listModels: self = .listModels
        case .switchModel: self = .switchModel(try .init(&f, nil))
        case .setThinkingVariant: self = .setThinkingVariant(try .init(&f, nil))
        case .setPermissionMode: self = .setPermissionMode(try .init(&f, nil))
        case .forgetAllowedTools: self = .forgetAllowedTools
        case .listPersonas: self = .listPersonas
        case .switchPersona: self = .switchPersona(try .init(&f, nil))
        case .listAgents: self = .listAgents
        case .createGroup: self = .createGroup(try .init(&f, nil))
        case .updateGroup: self = .updateGroup(try .init(&f, nil))
        case .deleteGroup: self = .deleteGroup(try .init(&f, nil))
        case .assignSessionGroup: self = .assignSessionGroup(try .init(&f, nil))
        case .listProjects: self = .listProjects
        case .pinProject: self = .pinProject(try .init(&f, nil))
        case .listDir: self = .listDir(try .init(&f, nil))
        case .listFilesystemDir: self = .listFilesystemDir(try .init(&f, nil))
        case .readFilePreview: self = .readFilePreview(try .init(&f, nil))
        case .gitStatus: self = .gitStatus(try .init(&f, nil))
        case .watchWorkspace: self = .watchWorkspace(try .init(&f, nil))
        case .openPath: self = .openPath(try .init(&f, nil))
        case .unflagFile: self = .unflagFile(try .init(&f, nil))
        case .receiptQuery: self = .receiptQuery(try .init(&f, nil))
        case .requestQuery: self = .requestQuery(try .init(&f, nil))
        case .lease: self = .lease(try .init(&f, nil))
        case .browserOpen: self = .browserOpen(try .init(&f, nil))
        case .browserSnapshot: self = .browserSnapshot(try .init(&f, nil))
        case .browserScreenshot: self = .browserScreenshot(try .init(&f, nil))
        case .browserClick: self = .browserClick(try .init(&f, nil))
        case .browserFill: self = .browserFill(try .init(&f, nil))
        case .browserPress: self = .browserPress(try .init(&f, nil))
        case .browserClose: self = .browserClose(try .init(&f, nil))
        case .terminalOpen: self = .terminalOpen(try .init(&f, nil))
        case .terminalInput: self = .terminalInput(try .init(&f, nil))
        case .terminalResize: self = .terminalResize(try .init(&f, nil))
        case .terminalClose: self = .terminalClose(try .init(&f, nil))
        }
    }
}
