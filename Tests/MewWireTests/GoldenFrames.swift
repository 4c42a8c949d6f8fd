import Testing

/// The golden frames G01–G41 of spec/mew-wire.md §6.1: the promise to every stock peer. They may grow in number; none may
/// change.
enum GoldenFrames {
    enum Sender { case client, daemon }

    struct Frame: Sendable, CustomTestStringConvertible {
        let name: String
        let sender: Sender
        let text: String
        var testDescription: String { name }
    }

    static let all: [Frame] = [
        Frame(
            name: "G01", sender: .client,
            text: #"{"type":"remote_hello","token":"mew_01K4SJKHR00000000000T0KEN1","device_name":"mew mobile"}"#),
        Frame(
            name: "G02", sender: .client,
            text: #"{"type":"remote_hello","device_name":"mew mobile"}"#),
        Frame(
            name: "G03", sender: .daemon,
            text: #"{"type":"remote_ready","scope":"control"}"#),
        Frame(
            name: "G04", sender: .client,
            text: #"{"type":"ping"}"#),
        Frame(
            name: "G05", sender: .daemon,
            text: #"{"type":"pong","version":"0.2.0"}"#),
        Frame(
            name: "G06", sender: .client,
            text: #"{"type":"new_session","cwd":null,"client_kind":"mobile"}"#),
        Frame(
            name: "G07", sender: .daemon,
            text:
                #"{"type":"session_ready","session_id":"sess_01K4SJKHR00000000000SESS01","cwd":"/Users/me/app","model":"sonnet-x","provider":"anthropic","permission_mode":"standard"}"#
        ),
        Frame(
            name: "G08", sender: .daemon,
            text: #"{"type":"thinking_variant_changed"}"#),
        Frame(
            name: "G09", sender: .daemon,
            text: #"{"type":"thinking_variant_changed","variant":"budget:8192"}"#),
        Frame(
            name: "G10", sender: .client,
            text: #"{"type":"attach_session","session_id":"sess_01K4SJKHR00000000000SESS01","client_kind":"mobile"}"#),
        Frame(
            name: "G11", sender: .daemon,
            text:
                #"{"type":"session_list","sessions":[{"session_id":"sess_01K4SJKHR00000000000SESS01","state":"running","model":"sonnet-x","provider":"anthropic","created_at":1757500000000,"last_message_at":1757500009950,"client_count":1,"cwd":"/Users/me/app","workspace_path":"/Users/me/app","last_turn_failed":false,"archived":false,"pinned":true,"group_id":"grp_01K4SJKHR0000000000000GRP1","change_stats":{"added":12,"removed":3,"files":["src/main.swift"]},"usage":{"input_tokens":5120,"output_tokens":480,"cache_read_tokens":4096,"cache_write_tokens":0,"cost":0.0142,"turns":2},"context_tokens":5120,"pending_permissions":1,"pending_questions":0,"first_message":"Fix the crash on launch"}]}"#
        ),
        Frame(
            name: "G12", sender: .daemon,
            text:
                #"{"type":"group_list","groups":[{"id":"grp_01K4SJKHR0000000000000GRP1","name":"Work","color":"blue","order":0}]}"#
        ),
        Frame(
            name: "G13", sender: .client,
            text:
                #"{"type":"prompt","text":"What is in this picture?","attachments":[{"path":"/Users/me/shot.png","mime":"image/png"}]}"#
        ),
        Frame(
            name: "G14", sender: .daemon,
            text:
                #"{"type":"provider","event":{"type":"part_start","part":{"type":"text","id":"01K4SJKKMY00000000000PART1","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","text":""}}}"#
        ),
        Frame(
            name: "G15", sender: .daemon,
            text:
                #"{"type":"provider","event":{"type":"part_delta","part_id":"01K4SJKKMY00000000000PART1","field":"text","delta":"Let me look"}}"#
        ),
        Frame(
            name: "G16", sender: .daemon,
            text:
                #"{"type":"provider","event":{"type":"message_end","finish":"tool_use","usage":{"input":2400,"output":120,"reasoning":0,"cache_read":2048,"cache_write":0},"cost":0.0}}"#
        ),
        Frame(
            name: "G17", sender: .daemon,
            text:
                #"{"type":"provider","event":{"type":"retry_wait","attempt":1,"max_attempts":5,"delay_secs":2,"reason":"rate limited"}}"#
        ),
        Frame(
            name: "G18", sender: .daemon,
            text:
                #"{"type":"provider","event":{"type":"error","kind":"provider_overload","message":"upstream overloaded"}}"#
        ),
        Frame(
            name: "G19", sender: .daemon,
            text:
                #"{"type":"part_updated","part_id":"01K4SJKM9800000000000PART2","part":{"type":"tool_call","id":"01K4SJKM9800000000000PART2","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","tool_name":"edit","call_id":"call_1","state":{"status":"completed","input":{"path":"src/main.swift"},"output":"1 replacement","metadata":{"replacements":1},"diff":"@@ -1 +1 @@\n-old\n+new\n","time":{"start":1757500003000,"end":1757500003900}}}}"#
        ),
        Frame(
            name: "G20", sender: .daemon,
            text:
                #"{"type":"part_updated","part_id":"01K4SJKM9800000000000PART2","part":{"type":"tool_call","id":"01K4SJKM9800000000000PART2","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","tool_name":"bash","call_id":"call_1","state":{"status":"error","input":{"command":"rm -r build"},"error":"permission denied: user denied","time":{"start":1757500003000,"end":1757500003900}}}}"#
        ),
        Frame(
            name: "G21", sender: .daemon,
            text:
                #"{"type":"permission_request","request_id":"01K4SJKMRW000000000000REQ1","tool_name":"bash","input":{"command":"swift test"}}"#
        ),
        Frame(
            name: "G22", sender: .client,
            text: #"{"type":"permission_response","request_id":"01K4SJKMRW000000000000REQ1","decision":"allow_once"}"#),
        Frame(
            name: "G23", sender: .daemon,
            text: #"{"type":"request_resolved","request_id":"01K4SJKMRW000000000000REQ1"}"#),
        Frame(
            name: "G24", sender: .daemon,
            text:
                #"{"type":"session_attention_changed","session_id":"sess_01K4SJKHR00000000000SESS01","pending_permissions":0,"pending_questions":0}"#
        ),
        Frame(
            name: "G25", sender: .daemon,
            text:
                #"{"type":"ask_user_request","request_id":"01K4SJNCB0000000000000REQ2","call_id":"call_2","questions":[{"prompt":"Which target?","options":[{"label":"iOS","description":""},{"label":"macOS","description":""}]}]}"#
        ),
        Frame(
            name: "G26", sender: .client,
            text: #"{"type":"ask_user_response","request_id":"01K4SJNCB0000000000000REQ2","answers":["iOS"]}"#),
        Frame(
            name: "G27", sender: .daemon,
            text:
                ##"{"type":"plan_approval_request","request_id":"01K4SJNCB0000000000000REQ2","call_id":"call_3","plan_path":".mew/plans/login.md","plan_markdown":"# Plan\n1. Add tests\n","persona":"builder"}"##
        ),
        Frame(
            name: "G28", sender: .client,
            text:
                #"{"type":"plan_approval_response","request_id":"01K4SJNCB0000000000000REQ2","approved":false,"feedback":"Keep the API stable"}"#
        ),
        Frame(
            name: "G29", sender: .daemon,
            text:
                #"{"type":"goal_proposed","request_id":"01K4SJNP6M000000000000REQ3","call_id":"call_4","objective":"All tests pass"}"#
        ),
        Frame(
            name: "G30", sender: .client,
            text: #"{"type":"goal_response","request_id":"01K4SJNP6M000000000000REQ3","accepted":true}"#),
        Frame(
            name: "G31", sender: .daemon,
            text:
                #"{"type":"workspace_permission_request","request_id":"01K4SJNP6M000000000000REQ3","path":"/etc/hosts"}"#
        ),
        Frame(
            name: "G32", sender: .daemon,
            text:
                #"{"type":"session_alert","session_id":"sess_01K4SJKHR00000000000SESS01","title":"Fix launch crash","kind":"permission_needed","detail":"bash"}"#
        ),
        Frame(
            name: "G33", sender: .daemon,
            text:
                #"{"type":"session_meta_changed","session_id":"sess_01K4SJKHR00000000000SESS01","archived":true,"pinned":false}"#
        ),
        Frame(
            name: "G34", sender: .daemon,
            text:
                #"{"type":"todos_updated","todos":[{"id":1,"content":"Write a failing test","status":"in_progress","depends_on":[]},{"id":2,"content":"Fix it","status":"blocked","depends_on":[1]}]}"#
        ),
        Frame(
            name: "G35", sender: .daemon,
            text:
                #"{"type":"subagent_end","parent_call_id":"call_5","child_session_id":"sess_01K4SJKJXG000000000000MSG1","outcome":{"failed":{"reason":"timeout"}},"manifests":[]}"#
        ),
        Frame(
            name: "G36", sender: .daemon,
            text:
                #"{"type":"model_list","models":[{"id":"qwen/max","provider":"qwen","model":"max","description":"262144 ctx · reasoning","thinking_variants":[{"name":"low"},{"name":"high"}],"thinking_budget":{"min":1024,"max":32768,"step":1024,"default":8192,"by_effort":[["low",2048],["high",16384]]},"context_window":262144}]}"#
        ),
        Frame(
            name: "G37", sender: .daemon,
            text:
                #"{"type":"project_list","projects":[{"path":"/Users/me/app","display_name":"app","session_count":3,"last_used_at":1757500009950,"pinned":false}]}"#
        ),
        Frame(
            name: "G38", sender: .daemon,
            text:
                #"{"type":"dir_listing","session_id":"sess_01K4SJKHR00000000000SESS01","path":"","entries":[{"name":"Sources","is_dir":true},{"name":"Package.swift","is_dir":false,"size":812}]}"#
        ),
        Frame(
            name: "G39", sender: .daemon,
            text: #"{"type":"error","message":"session not found"}"#),
        Frame(
            name: "G40", sender: .daemon,
            text: #"{"type":"terminal_output","terminal_id":"01K4SJKHR000000000000TERM1","bytes":[36,32]}"#),
        Frame(
            name: "G41", sender: .daemon,
            text: #"{"type":"permission_request","request_id":7,"tool_name":"bash","input":{"command":"ls"}}"#),
    ]
}
