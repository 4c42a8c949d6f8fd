import MewWire
import Testing

@Suite("Enums and tables")
struct EnumTests {
    /// Written out from spec/mew-wire.md §3.3.1 and spec/native-wire.md §2.
    @Test("every enum has exactly the strings of the specification")
    func strings() {
        func check<E: WireEnum>(_ type: E.Type, _ strings: String) {
            #expect(E.allCases.map(\.rawValue) == strings.split(separator: " ").map(String.init))
        }
        check(ClientKind.self, "tui web desktop cli mobile remote unknown")
        check(Scope.self, "observe collaborate control")
        check(SessionState.self, "active idle running")
        check(PermissionDecision.self, "allow_once allow_session deny")
        check(AlertKind.self, "turn_complete turn_failed permission_needed input_needed")
        check(Role.self, "user assistant system")
        check(FinishReason.self, "stop length tool_use error")
        check(
            ProviderErrorKind.self,
            "provider_auth provider_rate_limit provider_overload provider_api context_overflow aborted tool_exec "
                + "tool_timeout mcp_transport network unknown")
        check(GitFileStatus.self, "added modified deleted renamed untracked")
        check(SegmentKind.self, "scaffold context_file skill tools message part compaction_summary")
        check(ReceiptState.self, "stored started done refused absent")
        check(TurnResult.self, "completed failed cancelled interrupted")
        check(AnswerOutcome.self, "settled repeated too_late not_what_was_shown unknown")
        check(RequestOutcome.self, "answered cancelled turn_ended")
        check(ResumeKind.self, "replay snapshot new")
        check(LeaseKind.self, "input size")
        check(LeaseAct.self, "take_if_free take_over release")
        #expect(
            PermissionMode.allCases.map(\.rawValue) == ["standard", "permissive", "auto", "auto_plus", "dangerous"])
    }

    @Test("aliases are read: PascalCase reasons and errors, autoplus, and unknown kinds of clients and codes")
    func aliases() throws {
        #expect(try FinishReason.decode("ToolUse") == .toolUse)
        #expect(try FinishReason.decode("Stop") == .stop)
        #expect(try ProviderErrorKind.decode("ProviderRateLimit") == .providerRateLimit)
        // Derived from the snake_case string, as the stock serializer does.
        #expect(try ProviderErrorKind.decode("ProviderApi") == .providerAPI)
        #expect(PermissionMode(text: "autoplus") == .autoPlus)
        #expect(PermissionMode(text: "yolo") == nil)
        #expect(try ClientKind.decode("toaster") == .unknown)
        #expect(try ErrorCode.decode("from_the_future") == .internal)
    }

    @Test("an unknown string is refused with the strings that would do; nothing of it is quoted")
    func unknown() {
        #expect(throws: FieldError("must be one of allow_once, allow_session, deny")) {
            try PermissionDecision.decode("Deny")
        }
        #expect(throws: FieldError.self) { try FinishReason.decode("STOP") }
        #expect(throws: FieldError.self) { try Scope.decode("root") }
    }

    @Test("a subagent's end has its three forms and no other")
    func subagentOutcome() throws {
        for (json, value) in [
            ("completed", .completed), ("cancelled", .cancelled), (["failed": ["reason": "r"]], .failed(reason: "r")),
        ] as [(JSON, SubagentOutcome)] {
            #expect(try SubagentOutcome.decode(json) == value)
            #expect(value.encoded() == json.utf8)
        }
        for json in ["failed", ["failed": [:]], ["failed": "r"], [:], nil] as [JSON] {
            #expect(throws: FieldError.self) { try SubagentOutcome.decode(json) }
        }
    }

    /// The table of spec/native-wire.md §4, row by row.
    @Test("each code has its exit status and its promise")
    func codes() {
        let table: [(exit: Int32, notDone: Bool, codes: String)] = [
            (2, true, "bad_input unknown_version unknown_session unknown_daemon bad_cwd"),
            (3, true, "window_closed timed_out"),
            (4, true, "unauthorized revoked scope"),
            (5, true, "unreachable daemon_restarting wrong_node"),
            (6, true, "busy lease_held turn_over too_late not_what_was_shown unknown_request"),
            (6, false, "op_conflict op_settled op_expired"),
            (1, true, "op_id_required digest_missing wrong_channel unknown_type too_large protocol"),
            (6, true, "not_saved"),
            (1, true, "port_taken directory_locked directory_read_only"),
            (7, false, "delivery_unknown"),
            (1, false, "internal"),
        ]
        var seen: [String] = []
        for row in table {
            for name in row.codes.split(separator: " ").map(String.init) {
                let code = ErrorCode(rawValue: name)
                #expect(code?.exitStatus == row.exit && code?.definitelyNotDone == row.notDone, "\(name)")
                seen.append(name)
            }
        }
        #expect(seen == ErrorCode.allCases.map(\.rawValue))
    }

    /// spec/mew-wire.md §2.4 and spec/native-wire.md §5; what is not listed needs `control`.
    @Test("each message needs the scope of the specification")
    func scopes() {
        let observe = """
            remote_hello attach_session load_session_history list_sessions list_projects list_models ping list_dir \
            list_filesystem_dir read_file_preview git_status watch_workspace resume_session list_agents list_personas \
            request_query
            """
        let collaborate = """
            prompt cancel permission_response ask_user_response plan_approval_response yield_control guide receipt_query \
            lease
            """
        for kind in ClientMessage.Kind.allCases {
            let isObserve = observe.split(separator: " ").contains { $0 == kind.rawValue }
            let isCollaborate = collaborate.split(separator: " ").contains { $0 == kind.rawValue }
            #expect(kind.neededScope == (isObserve ? .observe : isCollaborate ? .collaborate : .control), "\(kind)")
        }
        #expect(Scope.observe < .collaborate && .collaborate < Scope.control)
    }

    @Test("each message has its channel, and those that change something are known")
    func channelsAndOperations() {
        let session = """
            prompt guide cancel permission_response ask_user_response plan_approval_response goal_response slash_command \
            switch_model set_thinking_variant set_permission_mode list_personas switch_persona load_session_history \
            resume_session forget_allowed_tools
            """
        let changing = """
            new_session new_session_in_group prompt guide cancel permission_response ask_user_response \
            plan_approval_response goal_response slash_command rename_session regenerate_title delete_session \
            archive_session pin_session switch_model switch_persona set_auto_title set_auto_summary set_thinking_variant \
            set_permission_mode create_group update_group delete_group assign_session_group pin_project unflag_file lease \
            terminal_open forget_allowed_tools
            """
        for kind in ClientMessage.Kind.allCases {
            let opens = ["attach_session", "new_session", "new_session_in_group"].contains(kind.rawValue)
            let inSession = session.split(separator: " ").contains { $0 == kind.rawValue }
            #expect(kind.channel == (opens ? .opensSession : inSession ? .session : .control), "\(kind)")
            #expect(kind.changesSomething == changing.split(separator: " ").contains { $0 == kind.rawValue }, "\(kind)")
        }
    }

    @Test("presence, attention, alerts, leases, file changes, lists and direct replies are not journalled")
    func journal() {
        let notJournalled: [DaemonMessage.Kind] = [
            .clientAttached, .clientDetached, .controlYielded, .sessionAttentionChanged, .sessionAlert, .leaseState,
            .fsChanged, .sessionList, .modelList, .groupList, .projectList, .personaList, .agentList, .pong, .error,
            .sessionReady, .sessionHistory, .sessionHistoryPage, .caughtUp, .gap, .receipt, .answerVerdict,
            .slashResult,
            .groupsChanged, .daemonState,
        ]
        #expect(notJournalled.allSatisfy { !$0.isJournalled })
        let journalled: [DaemonMessage.Kind] = [
            .userMessage, .provider, .partUpdated, .toolStart, .toolProgress, .toolEnd, .permissionRequest,
            .askUserRequest, .requestResolved, .permissionModeChanged, .modelSwitched, .sessionTitleChanged,
            .sessionActivityChanged, .sessionUsageChanged, .todosUpdated, .jobUpdate, .subagentStart,
        ]
        #expect(journalled.allSatisfy { $0.isJournalled })
    }
}
