/// A message from a daemon to a client: every type of spec/mew-wire.md §3.2 and of spec/native-wire.md §2.
///
/// Each payload stands in the file of its family, with who gets it and what it means. A new type takes four lines here and
/// perhaps one in `DaemonMessageRules.swift`.
public enum DaemonMessage: Sendable, Equatable {
    case remoteReady(RemoteReady)
    case pong(Pong)
    case error(ErrorReply)
    case pairPending(PairPending)
    case revoked(Revoked)
    case daemonState(DaemonState)
    case reach(Reach)

    case sessionReady(SessionReady)
    case sessionHistoryPage(SessionHistoryPage)
    case sessionHistory(SessionHistory)
    case sessionCleared
    case sessionList(SessionList)
    case caughtUp(CaughtUp)
    case gap(Gap)

    case sessionTitleChanged(SessionTitleChanged)
    case sessionSummaryChanged(SessionSummaryChanged)
    case sessionActivityChanged(SessionActivityChanged)
    case sessionUsageChanged(SessionUsageChanged)
    case sessionStatsChanged(SessionStatsChanged)
    case sessionMetaChanged(SessionMetaChanged)
    case sessionAttentionChanged(SessionAttentionChanged)
    case sessionAlert(SessionAlert)

    case clientAttached(ClientAttached)
    case clientDetached(ClientDetached)
    case controlYielded(ControlYielded)
    case leaseState(LeaseState)

    case userMessage(UserMessage)
    case provider(Provider)
    case partUpdated(PartUpdated)
    case toolStart(ToolStart)
    case toolProgress(ToolProgress)
    case toolEnd(ToolEnd)
    case errorEvent(ErrorEvent)
    case todosUpdated(TodosUpdated)
    case flaggedFilesChanged(FlaggedFilesChanged)
    case personaSwitchRequested(PersonaSwitchRequested)
    case jobUpdate(JobUpdate)
    case subagentStart(SubagentStart)
    case subagentStatus(SubagentStatus)
    case subagentEnd(SubagentEnd)
    case slashResult(SlashResult)

    /// Each of the six requests that wait for an answer.
    case request(Request)
    case requestResolved(RequestResolved)

    case receipt(Receipt)
    case answerVerdict(AnswerVerdict)

    case modelList(ModelList)
    case modelSwitched(ModelSwitched)
    case thinkingVariantChanged(ThinkingVariantChanged)
    case permissionModeChanged(PermissionModeChanged)
    case personaList(PersonaList)
    case personaSwitched(PersonaSwitched)
    case groupList(GroupList)
    case groupsChanged(GroupList)
    case projectList(ProjectList)
    case agentList(AgentList)

    case dirListing(DirListing)
    case filesystemDirListing(FilesystemDirListing)
    case filePreview(FilePreview)
    case gitStatusResult(GitStatusResult)
    case fsChanged(FsChanged)

    case browserState(BrowserState)
    case browserSnapshot(BrowserSnapshot)
    case browserScreenshot(BrowserScreenshot)
    case browserError(BrowserError)

    case terminalOpened(TerminalOpened)
    case terminalOutput(TerminalOutput)
    case terminalExited(TerminalExited)
    case terminalError(TerminalError)
}

extension DaemonMessage {
    /// The strings of `type`.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case remoteReady = "remote_ready"
        case pong
        case error
        case pairPending = "pair_pending"
        case revoked
        case daemonState = "daemon_state"
        case reach

        case sessionReady = "session_ready"
        case sessionHistoryPage = "session_history_page"
        case sessionHistory = "session_history"
        case sessionCleared = "session_cleared"
        case sessionList = "session_list"
        case caughtUp = "caught_up"
        case gap

        case sessionTitleChanged = "session_title_changed"
        case sessionSummaryChanged = "session_summary_changed"
        case sessionActivityChanged = "session_activity_changed"
        case sessionUsageChanged = "session_usage_changed"
        case sessionStatsChanged = "session_stats_changed"
        case sessionMetaChanged = "session_meta_changed"
        case sessionAttentionChanged = "session_attention_changed"
        case sessionAlert = "session_alert"

        case clientAttached = "client_attached"
        case clientDetached = "client_detached"
        case controlYielded = "control_yielded"
        case leaseState = "lease_state"

        case userMessage = "user_message"
        case provider
        case partUpdated = "part_updated"
        case toolStart = "tool_start"
        case toolProgress = "tool_progress"
        case toolEnd = "tool_end"
        case errorEvent = "error_event"
        case todosUpdated = "todos_updated"
        case flaggedFilesChanged = "flagged_files_changed"
        case personaSwitchRequested = "persona_switch_requested"
        case jobUpdate = "job_update"
        case subagentStart = "subagent_start"
        case subagentStatus = "subagent_status"
        case subagentEnd = "subagent_end"
        case slashResult = "slash_result"

        case permissionRequest = "permission_request"
        case workspacePermissionRequest = "workspace_permission_request"
        case subagentPermissionRequest = "subagent_permission_request"
        case askUserRequest = "ask_user_request"
        case planApprovalRequest = "plan_approval_request"
        case goalProposed = "goal_proposed"
        case requestResolved = "request_resolved"

        case receipt
        case answerVerdict = "answer_verdict"

        case modelList = "model_list"
        case modelSwitched = "model_switched"
        case thinkingVariantChanged = "thinking_variant_changed"
        case permissionModeChanged = "permission_mode_changed"
        case personaList = "persona_list"
        case personaSwitched = "persona_switched"
        case groupList = "group_list"
        case groupsChanged = "groups_changed"
        case projectList = "project_list"
        case agentList = "agent_list"

        case dirListing = "dir_listing"
        case filesystemDirListing = "filesystem_dir_listing"
        case filePreview = "file_preview"
        case gitStatusResult = "git_status_result"
        case fsChanged = "fs_changed"

        case browserState = "browser_state"
        case browserSnapshot = "browser_snapshot"
        case browserScreenshot = "browser_screenshot"
        case browserError = "browser_error"

        case terminalOpened = "terminal_opened"
        case terminalOutput = "terminal_output"
        case terminalExited = "terminal_exited"
        case terminalError = "terminal_error"
    }

    public var kind: Kind { parts.kind }

    /// The type and the fields that follow it.
    var parts: (kind: Kind, payload: any Record) {
        switch self {
        case .remoteReady(let m): (.remoteReady, m)
        case .pong(let m): (.pong, m)
        case .error(let m): (.error, m)
        case .pairPending(let m): (.pairPending, m)
        case .revoked(let m): (.revoked, m)
        case .daemonState(let m): (.daemonState, m)
        case .reach(let m): (.reach, m)
        case .sessionReady(let m): (.sessionReady, m)
        case .sessionHistoryPage(let m): (.sessionHistoryPage, m)
        case .sessionHistory(let m): (.sessionHistory, m)
        case .sessionCleared: (.sessionCleared, NoFields())
        case .sessionList(let m): (.sessionList, m)
        case .caughtUp(let m): (.caughtUp, m)
        case .gap(let m): (.gap, m)
        case .sessionTitleChanged(let m): (.sessionTitleChanged, m)
        case .sessionSummaryChanged(let m): (.sessionSummaryChanged, m)
        case .sessionActivityChanged(let m): (.sessionActivityChanged, m)
        case .sessionUsageChanged(let m): (.sessionUsageChanged, m)
        case .sessionStatsChanged(let m): (.sessionStatsChanged, m)
        case .sessionMetaChanged(let m): (.sessionMetaChanged, m)
        case .sessionAttentionChanged(let m): (.sessionAttentionChanged, m)
        case .sessionAlert(let m): (.sessionAlert, m)
        case .clientAttached(let m): (.clientAttached, m)
        case .clientDetached(let m): (.clientDetached, m)
        case .controlYielded(let m): (.controlYielded, m)
        case .leaseState(let m): (.leaseState, m)
        case .userMessage(let m): (.userMessage, m)
        case .provider(let m): (.provider, m)
        case .partUpdated(let m): (.partUpdated, m)
        case .toolStart(let m): (.toolStart, m)
        case .toolProgress(let m): (.toolProgress, m)
        case .toolEnd(let m): (.toolEnd, m)
        case .errorEvent(let m): (.errorEvent, m)
        case .todosUpdated(let m): (.todosUpdated, m)
        case .flaggedFilesChanged(let m): (.flaggedFilesChanged, m)
        case .personaSwitchRequested(let m): (.personaSwitchRequested, m)
        case .jobUpdate(let m): (.jobUpdate, m)
        case .subagentStart(let m): (.subagentStart, m)
        case .subagentStatus(let m): (.subagentStatus, m)
        case .subagentEnd(let m): (.subagentEnd, m)
        case .slashResult(let m): (.slashResult, m)
        case .request(let m): (m.content.kind, m)
        case .requestResolved(let m): (.requestResolved, m)
        case .receipt(let m): (.receipt, m)
        case .answerVerdict(let m): (.answerVerdict, m)
        case .modelList(let m): (.modelList, m)
        case .modelSwitched(let m): (.modelSwitched, m)
        case .thinkingVariantChanged(let m): (.thinkingVariantChanged, m)
        case .permissionModeChanged(let m): (.permissionModeChanged, m)
        case .personaList(let m): (.personaList, m)
        case .personaSwitched(let m): (.personaSwitched, m)
        case .groupList(let m): (.groupList, m)
        case .groupsChanged(let m): (.groupsChanged, m)
        case .projectList(let m): (.projectList, m)
        case .agentList(let m): (.agentList, m)
        case .dirListing(let m): (.dirListing, m)
        case .filesystemDirListing(let m): (.filesystemDirListing, m)
        case .filePreview(let m): (.filePreview, m)
        case .gitStatusResult(let m): (.gitStatusResult, m)
        case .fsChanged(let m): (.fsChanged, m)
        case .browserState(let m): (.browserState, m)
        case .browserSnapshot(let m): (.browserSnapshot, m)
        case .browserScreenshot(let m): (.browserScreenshot, m)
        case .browserError(let m): (.browserError, m)
        case .terminalOpened(let m): (.terminalOpened, m)
        case .terminalOutput(let m): (.terminalOutput, m)
        case .terminalExited(let m): (.terminalExited, m)
        case .terminalError(let m): (.terminalError, m)
        }
    }

    init(_ kind: Kind, from f: inout Fields) throws(FieldError) {
        switch kind {
        case .remoteReady: self = .remoteReady(try .init(&f, nil))
        case .pong: self = .pong(try .init(&f, nil))
        case .error: self = .error(try .init(&f, nil))
        case .pairPending: self = .pairPending(try .init(&f, nil))
        case .revoked: self = .revoked(try .init(&f, nil))
        case .daemonState: self = .daemonState(try .init(&f, nil))
        case .reach: self = .reach(try .init(&f, nil))
        case .sessionReady: self = .sessionReady(try .init(&f, nil))
        case .sessionHistoryPage: self = .sessionHistoryPage(try .init(&f, nil))
        case .sessionHistory: self = .sessionHistory(try .init(&f, nil))
        case .sessionCleared: self = .sessionCleared
        case .sessionList: self = .sessionList(try .init(&f, nil))
        case .caughtUp: self = .caughtUp(try .init(&f, nil))
        case .gap: self = .gap(try .init(&f, nil))
        case .sessionTitleChanged: self = .sessionTitleChanged(try .init(&f, nil))
        case .sessionSummaryChanged: self = .sessionSummaryChanged(try .init(&f, nil))
        case .sessionActivityChanged: self = .sessionActivityChanged(try .init(&f, nil))
        case .sessionUsageChanged: self = .sessionUsageChanged(try .init(&f, nil))
        case .sessionStatsChanged: self = .sessionStatsChanged(try .init(&f, nil))
        case .sessionMetaChanged: self = .sessionMetaChanged(try .init(&f, nil))
        case .sessionAttentionChanged: self = .sessionAttentionChanged(try .init(&f, nil))
        case .sessionAlert: self = .sessionAlert(try .init(&f, nil))
        case .clientAttached: self = .clientAttached(try .init(&f, nil))
        case .clientDetached: self = .clientDetached(try .init(&f, nil))
        case .controlYielded: self = .controlYielded(try .init(&f, nil))
        case .leaseState: self = .leaseState(try .init(&f, nil))
        case .userMessage: self = .userMessage(try .init(&f, nil))
        case .provider: self = .provider(try .init(&f, nil))
        case .partUpdated: self = .partUpdated(try .init(&f, nil))
        case .toolStart: self = .toolStart(try .init(&f, nil))
        case .toolProgress: self = .toolProgress(try .init(&f, nil))
        case .toolEnd: self = .toolEnd(try .init(&f, nil))
        case .errorEvent: self = .errorEvent(try .init(&f, nil))
        case .todosUpdated: self = .todosUpdated(try .init(&f, nil))
        case .flaggedFilesChanged: self = .flaggedFilesChanged(try .init(&f, nil))
        case .personaSwitchRequested: self = .personaSwitchRequested(try .init(&f, nil))
        case .jobUpdate: self = .jobUpdate(try .init(&f, nil))
        case .subagentStart: self = .subagentStart(try .init(&f, nil))
        case .subagentStatus: self = .subagentStatus(try .init(&f, nil))
        case .subagentEnd: self = .subagentEnd(try .init(&f, nil))
        case .slashResult: self = .slashResult(try .init(&f, nil))
        case .permissionRequest, .workspacePermissionRequest, .subagentPermissionRequest, .askUserRequest,
            .planApprovalRequest, .goalProposed:
            self = .request(try .init(&f, nil))
        case .requestResolved: self = .requestResolved(try .init(&f, nil))
        case .receipt: self = .receipt(try .init(&f, nil))
        case .answerVerdict: self = .answerVerdict(try .init(&f, nil))
        case .modelList: self = .modelList(try .init(&f, nil))
        case .modelSwitched: self = .modelSwitched(try .init(&f, nil))
        case .thinkingVariantChanged: self = .thinkingVariantChanged(try .init(&f, nil))
        case .permissionModeChanged: self = .permissionModeChanged(try .init(&f, nil))
        case .personaList: self = .personaList(try .init(&f, nil))
        case .personaSwitched: self = .personaSwitched(try .init(&f, nil))
        case .groupList: self = .groupList(try .init(&f, nil))
        case .groupsChanged: self = .groupsChanged(try .init(&f, nil))
        case .projectList: self = .projectList(try .init(&f, nil))
        case .agentList: self = .agentList(try .init(&f, nil))
        case .dirListing: self = .dirListing(try .init(&f, nil))
        case .filesystemDirListing: self = .filesystemDirListing(try .init(&f, nil))
        case .filePreview: self = .filePreview(try .init(&f, nil))
        case .gitStatusResult: self = .gitStatusResult(try .init(&f, nil))
        case .fsChanged: self = .fsChanged(try .init(&f, nil))
        case .browserState: self = .browserState(try .init(&f, nil))
        case .browserSnapshot: self = .browserSnapshot(try .init(&f, nil))
        case .browserScreenshot: self = .browserScreenshot(try .init(&f, nil))
        case .browserError: self = .browserError(try .init(&f, nil))
        case .terminalOpened: self = .terminalOpened(try .init(&f, nil))
        case .terminalOutput: self = .terminalOutput(try .init(&f, nil))
        case .terminalExited: self = .terminalExited(try .init(&f, nil))
        case .terminalError: self = .terminalError(try .init(&f, nil))
        }
    }
}
