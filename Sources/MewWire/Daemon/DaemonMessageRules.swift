// What holds for every message of a type, in one table each (spec/native-wire.md §1 and §2).

extension DaemonMessage.Kind {
    /// Whether it goes into its session's journal and so carries a `seq` on native links. A direct reply of such a type, like
    /// `thinking_variant_changed` after an attach, has none.
    public var isJournalled: Bool {
        switch self {
        case .sessionCleared, .sessionTitleChanged, .sessionSummaryChanged, .sessionActivityChanged,
            .sessionUsageChanged, .sessionStatsChanged, .sessionMetaChanged, .userMessage, .provider, .partUpdated,
            .toolStart, .toolProgress, .toolEnd, .errorEvent, .todosUpdated, .flaggedFilesChanged,
            .personaSwitchRequested, .jobUpdate, .subagentStart, .subagentStatus, .subagentEnd, .permissionRequest,
            .workspacePermissionRequest, .subagentPermissionRequest, .askUserRequest, .planApprovalRequest,
            .goalProposed, .requestResolved, .modelSwitched, .thinkingVariantChanged, .permissionModeChanged,
            .personaSwitched:
            true
        default:
            false
        }
    }

    /// Marked A: it goes to everyone who is authenticated, attached or not.
    public var isForEveryone: Bool {
        switch self {
        case .sessionTitleChanged, .sessionSummaryChanged, .sessionActivityChanged, .sessionUsageChanged,
            .sessionMetaChanged, .sessionAttentionChanged, .sessionAlert, .groupsChanged, .daemonState, .reach:
            true
        default:
            false
        }
    }

    /// Whether it exists on `mew/wire/1` only.
    public var isNativeOnly: Bool {
        switch self {
        case .pairPending, .revoked, .daemonState, .reach, .caughtUp, .gap, .leaseState, .receipt, .answerVerdict,
            .agentList:
            true
        default:
            false
        }
    }
}
