/// Every type of spec/mew-wire.md §3.1 and the client's types of spec/native-wire.md §2.
extension WireForm {
    package static let client: [WireForm] = [
        WireForm(
            #"remote_hello token? device_name | capabilities? app? pair?"#,
            #"{"type":"remote_hello","token":"mew_01K4SJKHR00000000000T0KEN1","device_name":"laptop","capabilities":["ops","resume","desk"],"app":"mew 0.1","pair":true}"#
        ),
        WireForm(
            #"ping |"#,
            #"{"type":"ping"}"#),
        WireForm(
            #"new_session cwd~ client_kind="unknown" | agent?"#,
            #"{"type":"new_session","cwd":"/Users/me/app","client_kind":"cli","agent":"shell"}"#),
        WireForm(
            #"new_session_in_group cwd~ group_id client_kind="unknown" | agent?"#,
            #"{"type":"new_session_in_group","cwd":"/Users/me/app","group_id":"grp_01K4SJKHR0000000000000GRP1","client_kind":"tui","agent":"shell"}"#
        ),
        WireForm(
            #"attach_session session_id client_kind="unknown" | after_seq? epoch?"#,
            #"{"type":"attach_session","session_id":"sess_01K4SJKHR00000000000SESS01","client_kind":"remote","after_seq":41,"epoch":"01K4SJKHR000000000000EPCH1"}"#
        ),
        WireForm(
            #"load_session_history session_id before limit=24 | history_id?"#,
            #"{"type":"load_session_history","session_id":"sess_01K4SJKHR00000000000SESS01","before":48,"limit":12,"history_id":"01K4SJKHR0000000000000HST1"}"#
        ),
        WireForm(
            #"list_sessions |"#,
            #"{"type":"list_sessions"}"#),
        WireForm(
            #"delete_session session_id |"#,
            #"{"type":"delete_session","session_id":"sess_01K4SJKHR00000000000SESS01"}"#),
        WireForm(
            #"rename_session session_id title |"#,
            #"{"type":"rename_session","session_id":"sess_01K4SJKHR00000000000SESS01","title":"Fix launch crash"}"#),
        WireForm(
            #"regenerate_title session_id |"#,
            #"{"type":"regenerate_title","session_id":"sess_01K4SJKHR00000000000SESS01"}"#),
        WireForm(
            #"archive_session session_id archived |"#,
            #"{"type":"archive_session","session_id":"sess_01K4SJKHR00000000000SESS01","archived":true}"#),
        WireForm(
            #"pin_session session_id pinned |"#,
            #"{"type":"pin_session","session_id":"sess_01K4SJKHR00000000000SESS01","pinned":false}"#),
        WireForm(
            #"set_auto_title enabled |"#,
            #"{"type":"set_auto_title","enabled":true}"#),
        WireForm(
            #"set_auto_summary enabled |"#,
            #"{"type":"set_auto_summary","enabled":false}"#),
        WireForm(
            #"yield_control |"#,
            #"{"type":"yield_control"}"#),
        WireForm(
            #"prompt text attachments=[] |"#,
            #"{"type":"prompt","text":"Run the tests","attachments":[{"path":"/Users/me/shot.png","mime":"image/png"},{"path":"/etc/hosts"}]}"#
        ),
        WireForm(
            #"guide text |"#,
            #"{"type":"guide","text":"Only the fast ones"}"#),
        WireForm(
            #"cancel | turn_id?"#,
            #"{"type":"cancel","turn_id":"01K4SJKMRW000000000000TRN1"}"#),
        WireForm(
            #"permission_response request_id decision | shown_digest?"#,
            #"{"type":"permission_response","request_id":"01K4SJKMRW000000000000REQ1","decision":"allow_session","shown_digest":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}"#
        ),
        WireForm(
            #"ask_user_response request_id answers | shown_digest?"#,
            #"{"type":"ask_user_response","request_id":"01K4SJKMRW000000000000REQ1","answers":["iOS",""],"shown_digest":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}"#
        ),
        WireForm(
            #"plan_approval_response request_id approved feedback? | shown_digest?"#,
            #"{"type":"plan_approval_response","request_id":"01K4SJKMRW000000000000REQ1","approved":true,"feedback":"Keep the API stable","shown_digest":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}"#
        ),
        WireForm(
            #"goal_response request_id accepted | shown_digest?"#,
            #"{"type":"goal_response","request_id":"01K4SJKMRW000000000000REQ1","accepted":false,"shown_digest":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}"#
        ),
        WireForm(
            #"slash_command command |"#,
            #"{"type":"slash_command","command":"/goal All tests pass"}"#),
        WireForm(
            #"list_models |"#,
            #"{"type":"list_models"}"#),
        WireForm(
            #"switch_model provider model |"#,
            #"{"type":"switch_model","provider":"anthropic","model":"sonnet-x"}"#),
        WireForm(
            #"set_thinking_variant variant |"#,
            #"{"type":"set_thinking_variant","variant":"budget:8192"}"#),
        WireForm(
            #"set_permission_mode mode |"#,
            #"{"type":"set_permission_mode","mode":"auto_plus"}"#),
        WireForm(
            #"list_personas |"#,
            #"{"type":"list_personas"}"#),
        WireForm(
            #"switch_persona name |"#,
            #"{"type":"switch_persona","name":"builder"}"#),
        WireForm(
            #"create_group name color? |"#,
            #"{"type":"create_group","name":"Work","color":"blue"}"#),
        WireForm(
            #"update_group group_id name? color? order? |"#,
            #"{"type":"update_group","group_id":"grp_1","name":"Home","color":"red","order":2}"#),
        WireForm(
            #"delete_group group_id |"#,
            #"{"type":"delete_group","group_id":"grp_1"}"#),
        WireForm(
            #"assign_session_group session_id group_id? position? |"#,
            #"{"type":"assign_session_group","session_id":"sess_01K4SJKHR00000000000SESS01","group_id":"grp_1","position":3}"#
        ),
        WireForm(
            #"list_projects |"#,
            #"{"type":"list_projects"}"#),
        WireForm(
            #"pin_project path pinned |"#,
            #"{"type":"pin_project","path":"/Users/me/app","pinned":true}"#),
        WireForm(
            #"list_dir session_id path? |"#,
            #"{"type":"list_dir","session_id":"sess_01K4SJKHR00000000000SESS01","path":"Sources"}"#),
        WireForm(
            #"list_filesystem_dir path~ |"#,
            #"{"type":"list_filesystem_dir","path":"/Users/me"}"#),
        WireForm(
            #"read_file_preview session_id path max_bytes? |"#,
            #"{"type":"read_file_preview","session_id":"sess_01K4SJKHR00000000000SESS01","path":"README.md","max_bytes":4096}"#
        ),
        WireForm(
            #"git_status session_id |"#,
            #"{"type":"git_status","session_id":"sess_01K4SJKHR00000000000SESS01"}"#),
        WireForm(
            #"watch_workspace session_id enabled |"#,
            #"{"type":"watch_workspace","session_id":"sess_01K4SJKHR00000000000SESS01","enabled":true}"#),
        WireForm(
            #"open_path session_id path |"#,
            #"{"type":"open_path","session_id":"sess_01K4SJKHR00000000000SESS01","path":"README.md"}"#),
        WireForm(
            #"unflag_file session_id path |"#,
            #"{"type":"unflag_file","session_id":"sess_01K4SJKHR00000000000SESS01","path":"README.md"}"#),
        WireForm(
            #"browser_open url tab_id? |"#,
            #"{"type":"browser_open","url":"https://example.org/","tab_id":"1"}"#),
        WireForm(
            #"browser_snapshot tab_id? |"#,
            #"{"type":"browser_snapshot","tab_id":"1"}"#),
        WireForm(
            #"browser_screenshot annotate tab_id? |"#,
            #"{"type":"browser_screenshot","annotate":true,"tab_id":"1"}"#),
        WireForm(
            #"browser_click selector tab_id? |"#,
            ##"{"type":"browser_click","selector":"#go","tab_id":"1"}"##),
        WireForm(
            #"browser_fill selector text tab_id? |"#,
            ##"{"type":"browser_fill","selector":"#q","text":"mew","tab_id":"1"}"##),
        WireForm(
            #"browser_press key tab_id? |"#,
            #"{"type":"browser_press","key":"Enter","tab_id":"1"}"#),
        WireForm(
            #"browser_close tab_id? |"#,
            #"{"type":"browser_close","tab_id":"1"}"#),
        WireForm(
            #"terminal_open rows cols |"#,
            #"{"type":"terminal_open","rows":24,"cols":80}"#),
        WireForm(
            #"terminal_input terminal_id bytes |"#,
            #"{"type":"terminal_input","terminal_id":"01K4SJKHR000000000000TERM1","bytes":[108,115,10,0,255]}"#),
        WireForm(
            #"terminal_resize terminal_id rows cols |"#,
            #"{"type":"terminal_resize","terminal_id":"01K4SJKHR000000000000TERM1","rows":50,"cols":65535}"#),
        WireForm(
            #"terminal_close terminal_id |"#,
            #"{"type":"terminal_close","terminal_id":"01K4SJKHR000000000000TERM1"}"#),
        WireForm(
            #"!resume_session session_id after_seq |"#,
            #"{"type":"resume_session","session_id":"sess_01K4SJKHR00000000000SESS01","after_seq":41}"#),
        WireForm(
            #"!receipt_query op_ids settle |"#,
            #"{"type":"receipt_query","op_ids":["01K4SJKMRW0000000000000PS1","01K4SJKMRW000000000000REQ1"],"settle":true}"#
        ),
        WireForm(
            #"!request_query ending |"#,
            #"{"type":"request_query","ending":"REQ1"}"#),
        WireForm(
            #"!lease kind target act |"#,
            #"{"type":"lease","kind":"input","target":"sess_01K4SJKHR00000000000SESS01","act":"take_if_free"}"#),
        WireForm(
            #"!forget_allowed_tools |"#,
            #"{"type":"forget_allowed_tools"}"#),
        WireForm(
            #"!list_agents |"#,
            #"{"type":"list_agents"}"#),
    ]
}
