/// Every type of spec/mew-wire.md §3.2 and the daemon's types of spec/native-wire.md §2.
extension WireForm {
    package static let daemon: [WireForm] = [
        WireForm(
            #"remote_ready scope | capabilities? boot_id? limits? you?"#,
            #"{"type":"remote_ready","scope":"collaborate","capabilities":["ops","resume","desk"],"boot_id":"01K4SJKHR000000000000EPCH1","limits":{"frame":8388608,"prompt":1048576,"upload":0,"streams":64},"you":{"name":"laptop","scope":"collaborate"}}"#
        ),
        WireForm(
            #"pong version |"#,
            #"{"type":"pong","version":"0.2.0"}"#),
        WireForm(
            #"error message | code? op_id?"#,
            #"{"type":"error","message":"session not found","code":"op_id_required","op_id":"01K4SJKMRW0000000000000PS1"}"#
        ),
        WireForm(
            #"session_ready session_id cwd? model? provider? permission_mode? | epoch? head_seq? resume? lost? agent?"#,
            #"{"type":"session_ready","session_id":"sess_01K4SJKHR00000000000SESS01","cwd":"/Users/me/app","model":"sonnet-x","provider":"anthropic","permission_mode":"standard","epoch":"01K4SJKHR000000000000EPCH1","head_seq":57,"resume":"replay","lost":3,"agent":"shell"}"#
        ),
        WireForm(
            #"session_history_page session_id messages next_cursor? replace | as_of_seq? history_id?"#,
            #"{"type":"session_history_page","session_id":"sess_01K4SJKHR00000000000SESS01","messages":[{"id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","role":"assistant","parts":[{"type":"text","id":"01K4SJKKMY00000000000PART1","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","text":"hi"}],"time":{"created":1757500001900,"completed":1757500002900},"assistant":{"provider_id":"anthropic","model_id":"sonnet-x","cost":0.0063,"tokens":{"input":2400,"output":120,"reasoning":7,"cache_read":2048,"cache_write":1},"finish":"length","error":{"kind":"network","message":"gone"},"manifest":{"model":"sonnet-x","context_window":200000,"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4,"reasoning_tokens":5,"segments":[{"label":"tools","kind":"tools","source_id":"01K4SJKKMY00000000000PART1","tokens":10,"tokens_scaled":11,"children":[{"label":"summary","kind":"compaction_summary","tokens":0,"tokens_scaled":0,"children":[]}]}]}},"seq":57}],"next_cursor":24,"replace":true,"as_of_seq":57,"history_id":"01K4SJKHR0000000000000HST1"}"#
        ),
        WireForm(
            #"session_history messages |"#,
            #"{"type":"session_history","messages":[{"id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","role":"assistant","parts":[{"type":"text","id":"01K4SJKKMY00000000000PART1","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","text":"hi"}],"time":{"created":1757500001900,"completed":1757500002900},"assistant":{"provider_id":"anthropic","model_id":"sonnet-x","cost":0.0063,"tokens":{"input":2400,"output":120,"reasoning":7,"cache_read":2048,"cache_write":1},"finish":"length","error":{"kind":"network","message":"gone"},"manifest":{"model":"sonnet-x","context_window":200000,"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4,"reasoning_tokens":5,"segments":[{"label":"tools","kind":"tools","source_id":"01K4SJKKMY00000000000PART1","tokens":10,"tokens_scaled":11,"children":[{"label":"summary","kind":"compaction_summary","tokens":0,"tokens_scaled":0,"children":[]}]}]}},"seq":57}]}"#
        ),
        WireForm(
            #"session_cleared |"#,
            #"{"type":"session_cleared"}"#),
        WireForm(
            #"session_list sessions |"#,
            #"{"type":"session_list","sessions":[{"session_id":"sess_01K4SJKHR00000000000SESS01","state":"running","model":"sonnet-x","provider":"anthropic","created_at":1757500000000,"last_message_at":1757500009950,"summary":"Crash","client_count":1,"cwd":"/Users/me/app","workspace_path":"/Users/me/app","last_turn_failed":true,"archived":true,"pinned":true,"group_id":"grp_1","change_stats":{"added":12,"removed":3,"files":["src/main.swift"]},"usage":{"input_tokens":5120,"output_tokens":480,"cache_read_tokens":4096,"cache_write_tokens":0,"cost":0.0142,"turns":2},"context_tokens":5120,"pending_permissions":1,"pending_questions":2,"first_message":"Fix it","title":"Crash","agent":"shell","head_seq":57,"turn_id":"01K4SJKMRW000000000000TRN1","lease_holder":{"node_id":"0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d","name":"phone","client_kind":"mobile"}}]}"#
        ),
        WireForm(
            #"session_title_changed session_id title |"#,
            #"{"type":"session_title_changed","session_id":"sess_01K4SJKHR00000000000SESS01","title":"Run the tests"}"#),
        WireForm(
            #"session_summary_changed session_id summary |"#,
            #"{"type":"session_summary_changed","session_id":"sess_01K4SJKHR00000000000SESS01","summary":"Tests"}"#),
        WireForm(
            #"session_activity_changed session_id activity | turn_id?"#,
            #"{"type":"session_activity_changed","session_id":"sess_01K4SJKHR00000000000SESS01","activity":"idle","turn_id":"01K4SJKMRW000000000000TRN1"}"#
        ),
        WireForm(
            #"session_usage_changed session_id usage context_tokens? |"#,
            #"{"type":"session_usage_changed","session_id":"sess_01K4SJKHR00000000000SESS01","usage":{"input_tokens":5120,"output_tokens":480,"cache_read_tokens":4096,"cache_write_tokens":0,"cost":0.0142,"turns":2},"context_tokens":2720}"#
        ),
        WireForm(
            #"session_stats_changed session_id added removed files_changed |"#,
            #"{"type":"session_stats_changed","session_id":"sess_01K4SJKHR00000000000SESS01","added":12,"removed":3,"files_changed":1}"#
        ),
        WireForm(
            #"session_meta_changed session_id archived=false pinned=false group_id? |"#,
            #"{"type":"session_meta_changed","session_id":"sess_01K4SJKHR00000000000SESS01","archived":true,"pinned":true,"group_id":"grp_1"}"#
        ),
        WireForm(
            #"session_attention_changed session_id pending_permissions pending_questions |"#,
            #"{"type":"session_attention_changed","session_id":"sess_01K4SJKHR00000000000SESS01","pending_permissions":1,"pending_questions":0}"#
        ),
        WireForm(
            #"session_alert session_id title kind detail? | alert_id? at_ms?"#,
            #"{"type":"session_alert","session_id":"sess_01K4SJKHR00000000000SESS01","title":"Crash","kind":"turn_complete","detail":"bash","alert_id":"01K4SJKMRW000000000000REQ1","at_ms":1757500009950}"#
        ),
        WireForm(
            #"client_attached client_id client_kind |"#,
            #"{"type":"client_attached","client_id":2,"client_kind":"web"}"#),
        WireForm(
            #"client_detached client_id |"#,
            #"{"type":"client_detached","client_id":2}"#),
        WireForm(
            #"control_yielded client_id |"#,
            #"{"type":"control_yielded","client_id":2}"#),
        WireForm(
            #"user_message text | op_id? by? message_id? turn_id? attachments?"#,
            #"{"type":"user_message","text":"Run the tests","op_id":"01K4SJKMRW0000000000000PS1","by":{"node_id":"0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d","name":"phone","client_kind":"mobile"},"message_id":"01K4SJKKKC000000000000MSG2","turn_id":"01K4SJKMRW000000000000TRN1","attachments":[{"path":"/Users/me/shot.png","mime":"image/png"},{"path":"/etc/hosts"}]}"#
        ),
        WireForm(
            #"provider event |"#,
            #"{"type":"provider","event":{"type":"message_end","finish":"error","usage":{"input":1,"output":2,"reasoning":3,"cache_read":4,"cache_write":5},"cost":1.5,"manifest":{"model":"m","context_window":1,"segments":[]}}}"#
        ),
        WireForm(
            #"part_updated part_id part |"#,
            #"{"type":"part_updated","part_id":"01K4SJKKMY00000000000PART1","part":{"type":"tool_call","id":"01K4SJKKMY00000000000PART1","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","tool_name":"edit","call_id":"call_1","state":{"status":"completed","input":{"path":"a"},"output":"ok","metadata":{"n":[1,2.5,null]},"diff":"@@","images":[{"mime":"image/png","data":"AA=="}],"time":{"start":1757500003000,"end":1757500003900}},"sensitivity":"mutating"}}"#
        ),
        WireForm(
            #"tool_start call_id |"#,
            #"{"type":"tool_start","call_id":"call_1"}"#),
        WireForm(
            #"tool_progress call_id chunk |"#,
            #"{"type":"tool_progress","call_id":"call_1","chunk":"passed\n"}"#),
        WireForm(
            #"tool_end call_id success |"#,
            #"{"type":"tool_end","call_id":"call_1","success":true}"#),
        WireForm(
            #"error_event message |"#,
            #"{"type":"error_event","message":"aborted"}"#),
        WireForm(
            #"todos_updated todos |"#,
            #"{"type":"todos_updated","todos":[{"id":1,"content":"Write a test","status":"done","depends_on":[2]}]}"#),
        WireForm(
            #"flagged_files_changed session_id files |"#,
            #"{"type":"flagged_files_changed","session_id":"sess_01K4SJKHR00000000000SESS01","files":[{"path":"a.swift","reason":"included"},{"path":"b.swift"}]}"#
        ),
        WireForm(
            #"persona_switch_requested name |"#,
            #"{"type":"persona_switch_requested","name":"builder"}"#),
        WireForm(
            #"job_update job_id command state |"#,
            #"{"type":"job_update","job_id":"7","command":"make","state":"exited 0"}"#),
        WireForm(
            #"subagent_start parent_call_id name child_session_id display_name~ |"#,
            #"{"type":"subagent_start","parent_call_id":"call_5","name":"search","child_session_id":"sess_01K4SJKHR00000000000SESS01","display_name":"Search"}"#
        ),
        WireForm(
            #"subagent_status parent_call_id tool_name message |"#,
            #"{"type":"subagent_status","parent_call_id":"call_5","tool_name":"grep","message":"looking"}"#),
        WireForm(
            #"subagent_end parent_call_id child_session_id outcome manifests=[] |"#,
            #"{"type":"subagent_end","parent_call_id":"call_5","child_session_id":"sess_01K4SJKHR00000000000SESS01","outcome":{"failed":{"reason":"timeout"}},"manifests":[{"model":"m","context_window":1,"segments":[]}]}"#
        ),
        WireForm(
            #"slash_result text |"#,
            #"{"type":"slash_result","text":"context cleared"}"#),
        WireForm(
            #"permission_request request_id tool_name input | shown?"#,
            #"{"type":"permission_request","request_id":"01K4SJKMRW000000000000REQ1","tool_name":"bash","input":{"command":"swift test"},"shown":"{\"type\":\"permission_request\",\"tool_name\":\"bash\",\"input\":{\"command\":\"swift test\"}}"}"#
        ),
        WireForm(
            #"workspace_permission_request request_id path | shown?"#,
            #"{"type":"workspace_permission_request","request_id":"01K4SJKMRW000000000000REQ1","path":"/etc/hosts","shown":"{}"}"#
        ),
        WireForm(
            #"subagent_permission_request request_id parent_call_id tool_name input | shown?"#,
            #"{"type":"subagent_permission_request","request_id":"01K4SJKMRW000000000000REQ1","parent_call_id":"call_5","tool_name":"bash","input":[1],"shown":"{}"}"#
        ),
        WireForm(
            #"ask_user_request request_id call_id questions | shown?"#,
            #"{"type":"ask_user_request","request_id":"01K4SJKMRW000000000000REQ1","call_id":"call_2","questions":[{"prompt":"Which target?","options":[{"label":"iOS","description":""},{"label":"macOS","description":"the big one"}]}],"shown":"{}"}"#
        ),
        WireForm(
            #"plan_approval_request request_id call_id plan_path plan_markdown persona | shown?"#,
            ##"{"type":"plan_approval_request","request_id":"01K4SJKMRW000000000000REQ1","call_id":"call_3","plan_path":".mew/plans/login.md","plan_markdown":"# Plan\n","persona":"builder","shown":"{}"}"##
        ),
        WireForm(
            #"goal_proposed request_id call_id objective | shown?"#,
            #"{"type":"goal_proposed","request_id":"01K4SJKMRW000000000000REQ1","call_id":"call_4","objective":"All tests pass","shown":"{}"}"#
        ),
        WireForm(
            #"request_resolved request_id | outcome? by? decision? bound?"#,
            #"{"type":"request_resolved","request_id":"01K4SJKMRW000000000000REQ1","outcome":"answered","by":{"node_id":"0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d","name":"phone","client_kind":"mobile"},"decision":"allow_once","bound":true}"#
        ),
        WireForm(
            #"model_list models |"#,
            #"{"type":"model_list","models":[{"id":"qwen/max","provider":"qwen","model":"max","description":"big","thinking_variants":[{"name":"low"}],"thinking_budget":{"min":1024,"max":32768,"step":1024,"default":8192,"by_effort":[["low",2048]]},"context_window":262144}]}"#
        ),
        WireForm(
            #"model_switched provider model |"#,
            #"{"type":"model_switched","provider":"qwen","model":"max"}"#),
        WireForm(
            #"thinking_variant_changed variant? |"#,
            #"{"type":"thinking_variant_changed","variant":"high"}"#),
        WireForm(
            #"permission_mode_changed mode | allowed_tools?"#,
            #"{"type":"permission_mode_changed","mode":"dangerous","allowed_tools":["bash"]}"#),
        WireForm(
            #"persona_list personas |"#,
            #"{"type":"persona_list","personas":[{"name":"builder","description":"Writes code","color":"red","active":true}]}"#
        ),
        WireForm(
            #"persona_switched name |"#,
            #"{"type":"persona_switched","name":"builder"}"#),
        WireForm(
            #"group_list groups |"#,
            #"{"type":"group_list","groups":[{"id":"grp_1","name":"Work","color":"blue","order":4294967295}]}"#),
        WireForm(
            #"groups_changed groups |"#,
            #"{"type":"groups_changed","groups":[{"id":"grp_1","name":"Work","color":"blue","order":4294967295}]}"#),
        WireForm(
            #"project_list projects |"#,
            #"{"type":"project_list","projects":[{"path":"/Users/me/app","display_name":"app","session_count":3,"last_used_at":1757500009950,"pinned":true}]}"#
        ),
        WireForm(
            #"dir_listing session_id path entries |"#,
            #"{"type":"dir_listing","session_id":"sess_01K4SJKHR00000000000SESS01","path":"","entries":[{"name":"Sources","is_dir":true},{"name":"Package.swift","is_dir":false,"size":812}]}"#
        ),
        WireForm(
            #"filesystem_dir_listing path entries |"#,
            #"{"type":"filesystem_dir_listing","path":"/Users/me","entries":[{"name":"app","is_dir":true}]}"#),
        WireForm(
            #"file_preview path content truncated language? |"#,
            ##"{"type":"file_preview","path":"README.md","content":"# mew","truncated":false,"language":"md"}"##),
        WireForm(
            #"git_status_result entries |"#,
            #"{"type":"git_status_result","entries":[{"path":"a.swift","status":"renamed"}]}"#),
        WireForm(
            #"fs_changed paths |"#,
            #"{"type":"fs_changed","paths":["a.swift"]}"#),
        WireForm(
            #"browser_state open url~ title~ tab_id? |"#,
            #"{"type":"browser_state","open":true,"url":"https://example.org/","title":"Example","tab_id":"1"}"#),
        WireForm(
            #"browser_snapshot snapshot url title tab_id? |"#,
            #"{"type":"browser_snapshot","snapshot":"- link","url":"https://example.org/","title":"Example","tab_id":"1"}"#
        ),
        WireForm(
            #"browser_screenshot data url tab_id? |"#,
            #"{"type":"browser_screenshot","data":"AA==","url":"https://example.org/","tab_id":"1"}"#),
        WireForm(
            #"browser_error message tab_id? |"#,
            #"{"type":"browser_error","message":"no browser","tab_id":"1"}"#),
        WireForm(
            #"terminal_opened terminal_id |"#,
            #"{"type":"terminal_opened","terminal_id":"01K4SJKHR000000000000TERM1"}"#),
        WireForm(
            #"terminal_output terminal_id bytes |"#,
            #"{"type":"terminal_output","terminal_id":"01K4SJKHR000000000000TERM1","bytes":[36,32]}"#),
        WireForm(
            #"terminal_exited terminal_id status |"#,
            #"{"type":"terminal_exited","terminal_id":"01K4SJKHR000000000000TERM1","status":"exit 0"}"#),
        WireForm(
            #"terminal_error terminal_id~ message |"#,
            #"{"type":"terminal_error","terminal_id":"01K4SJKHR000000000000TERM1","message":"terminal is not open"}"#),
        WireForm(
            #"!pair_pending expires_in_s |"#,
            #"{"type":"pair_pending","expires_in_s":117}"#),
        WireForm(
            #"!revoked at_ms reason |"#,
            #"{"type":"revoked","at_ms":1757500009950,"reason":"removed by the owner"}"#),
        WireForm(
            #"!daemon_state saving reason? |"#,
            #"{"type":"daemon_state","saving":false,"reason":"disk full"}"#),
        WireForm(
            #"!reach counter relays addrs |"#,
            #"{"type":"reach","counter":3,"relays":["https://relay.example.org/"],"addrs":["192.0.2.1:443","[2001:db8::1]:443"]}"#
        ),
        WireForm(
            #"!caught_up session_id seq |"#,
            #"{"type":"caught_up","session_id":"sess_01K4SJKHR00000000000SESS01","seq":57}"#),
        WireForm(
            #"!gap session_id after_seq |"#,
            #"{"type":"gap","session_id":"sess_01K4SJKHR00000000000SESS01","after_seq":41}"#),
        WireForm(
            #"!lease_state kind target holder~ |"#,
            #"{"type":"lease_state","kind":"size","target":"01K4SJKHR000000000000TERM1","holder":{"node_id":"0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d","name":"phone","client_kind":"mobile"}}"#
        ),
        WireForm(
            #"!receipt op_id state repeat session_id? seq? turn_id? result? code? message? at_ms |"#,
            #"{"type":"receipt","op_id":"01K4SJKMRW0000000000000PS1","state":"done","repeat":true,"session_id":"sess_01K4SJKHR00000000000SESS01","seq":58,"turn_id":"01K4SJKMRW000000000000TRN1","result":"interrupted","code":"turn_over","message":"that turn is over","at_ms":1757500009950}"#
        ),
        WireForm(
            #"!answer_verdict op_id request_id outcome how? by? decision? |"#,
            #"{"type":"answer_verdict","op_id":"01K4SJKMRW0000000000000PS1","request_id":"01K4SJKMRW000000000000REQ1","outcome":"too_late","how":"turn_ended","by":{"node_id":"0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d","name":"phone","client_kind":"mobile"},"decision":"deny"}"#
        ),
        WireForm(
            #"!agent_list agents default? |"#,
            #"{"type":"agent_list","agents":["shell","claude"],"default":"shell"}"#),
    ]
}
