/// The session of spec/mew-wire.md §6.2 between a stock phone and a daemon, frame by frame, as both would send it.
///
/// Where our daemon differs on purpose, the replay test says so; the texts stay as they are.
package enum StockTranscript {
    package enum Sender: Sendable { case client, daemon }

    package struct Frame: Sendable {
        /// What happens at this point; the frames of one step come in this order.
        package let step: String
        package let sender: Sender
        package let text: String
    }

    package static let frames: [Frame] = steps.flatMap { step in
        step.frames.map {
            Frame(step: step.name, sender: $0.hasPrefix("C> ") ? .client : .daemon, text: String($0.dropFirst(3)))
        }
    }

    private static let steps: [(name: String, frames: [String])] = [
        (
            "connect, hello, ping, list",
            [
                #"C> {"type":"remote_hello","token":"mew_01K4SJKHR00000000000T0KEN1","device_name":"mew mobile"}"#,
                #"C> {"type":"ping"}"#,
                #"D> {"type":"remote_ready","scope":"control"}"#,
                #"D> {"type":"pong","version":"0.2.0"}"#,
                #"C> {"type":"list_sessions"}"#,
                #"D> {"type":"session_list","sessions":[]}"#,
                #"D> {"type":"group_list","groups":[]}"#,
            ]
        ),
        (
            "new session",
            [
                #"C> {"type":"new_session","cwd":"/Users/me/app","client_kind":"mobile"}"#,
                #"D> {"type":"session_ready","session_id":"sess_01K4SJKHR00000000000SESS01","cwd":"/Users/me/app","model":"sonnet-x","provider":"anthropic","permission_mode":"standard"}"#,
                #"D> {"type":"thinking_variant_changed","variant":"high"}"#,
                #"C> {"type":"list_personas"}"#,
                #"D> {"type":"persona_list","personas":[{"name":"builder","description":"Writes code","active":true},{"name":"planner","description":"Plans only","active":false}]}"#,
            ]
        ),
        (
            "prompt, streamed text, tool call",
            [
                #"C> {"type":"prompt","text":"Run the tests","attachments":[]}"#,
                #"D> {"type":"user_message","text":"Run the tests"}"#,
                #"D> {"type":"session_activity_changed","session_id":"sess_01K4SJKHR00000000000SESS01","activity":"running"}"#,
                #"D> {"type":"provider","event":{"type":"part_start","part":{"type":"text","id":"01K4SJKKMY00000000000PART1","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","text":""}}}"#,
                #"D> {"type":"provider","event":{"type":"part_delta","part_id":"01K4SJKKMY00000000000PART1","field":"text","delta":"I'll run "}}"#,
                #"D> {"type":"provider","event":{"type":"part_delta","part_id":"01K4SJKKMY00000000000PART1","field":"text","delta":"the test suite."}}"#,
                #"D> {"type":"provider","event":{"type":"part_end","part_id":"01K4SJKKMY00000000000PART1"}}"#,
                #"D> {"type":"provider","event":{"type":"part_start","part":{"type":"tool_call","id":"01K4SJKM9800000000000PART2","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","tool_name":"bash","call_id":"call_1","state":{"status":"pending","input":{},"time":{"start":1757500002600}}}}}"#,
                #"D> {"type":"provider","event":{"type":"part_delta","part_id":"01K4SJKM9800000000000PART2","field":"arguments","delta":"{\"command\":\"swift test\"}"}}"#,
                #"D> {"type":"provider","event":{"type":"part_end","part_id":"01K4SJKM9800000000000PART2"}}"#,
                #"D> {"type":"provider","event":{"type":"message_end","finish":"tool_use","usage":{"input":2400,"output":120,"reasoning":0,"cache_read":2048,"cache_write":0},"cost":0.0}}"#,
                #"D> {"type":"part_updated","part_id":"01K4SJKM9800000000000PART2","part":{"type":"tool_call","id":"01K4SJKM9800000000000PART2","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","tool_name":"bash","call_id":"call_1","state":{"status":"running","input":{"command":"swift test"},"output":"","time":{"start":1757500003000}}}}"#,
                #"D> {"type":"tool_start","call_id":"call_1"}"#,
            ]
        ),
        (
            "permission",
            [
                #"D> {"type":"permission_request","request_id":"01K4SJKMRW000000000000REQ1","tool_name":"bash","input":{"command":"swift test"}}"#,
                #"D> {"type":"session_alert","session_id":"sess_01K4SJKHR00000000000SESS01","title":"sess_01K4SJKHR00000000000SESS01","kind":"permission_needed","detail":"bash"}"#,
                #"D> {"type":"session_attention_changed","session_id":"sess_01K4SJKHR00000000000SESS01","pending_permissions":1,"pending_questions":0}"#,
                #"C> {"type":"permission_response","request_id":"01K4SJKMRW000000000000REQ1","decision":"allow_once"}"#,
                #"D> {"type":"request_resolved","request_id":"01K4SJKMRW000000000000REQ1"}"#,
                #"D> {"type":"session_attention_changed","session_id":"sess_01K4SJKHR00000000000SESS01","pending_permissions":0,"pending_questions":0}"#,
                #"D> {"type":"tool_progress","call_id":"call_1","chunk":"Test Suite passed\n"}"#,
                #"D> {"type":"part_updated","part_id":"01K4SJKM9800000000000PART2","part":{"type":"tool_call","id":"01K4SJKM9800000000000PART2","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","tool_name":"bash","call_id":"call_1","state":{"status":"completed","input":{"command":"swift test"},"output":"Test Suite passed\n","time":{"start":1757500003000,"end":1757500008800}}}}"#,
                #"D> {"type":"tool_end","call_id":"call_1","success":true}"#,
            ]
        ),
        (
            "second provider round and end of turn",
            [
                #"D> {"type":"provider","event":{"type":"part_start","part":{"type":"text","id":"01K4SJKVEY00000000000PART4","message_id":"01K4SJKVDC000000000000MSG4","session_id":"01K4SJKHR00000000000SESS01","text":"All "}}}"#,
                #"D> {"type":"provider","event":{"type":"part_delta","part_id":"01K4SJKVEY00000000000PART4","field":"text","delta":"tests pass."}}"#,
                #"D> {"type":"provider","event":{"type":"part_end","part_id":"01K4SJKVEY00000000000PART4"}}"#,
                #"D> {"type":"provider","event":{"type":"message_end","finish":"stop","usage":{"input":2720,"output":24,"reasoning":0,"cache_read":2400,"cache_write":0},"cost":0.0}}"#,
                #"D> {"type":"session_activity_changed","session_id":"sess_01K4SJKHR00000000000SESS01","activity":"idle"}"#,
                #"D> {"type":"session_usage_changed","session_id":"sess_01K4SJKHR00000000000SESS01","usage":{"input_tokens":5120,"output_tokens":144,"cache_read_tokens":4448,"cache_write_tokens":0,"cost":0.0121,"turns":1},"context_tokens":2720}"#,
                #"D> {"type":"session_alert","session_id":"sess_01K4SJKHR00000000000SESS01","title":"sess_01K4SJKHR00000000000SESS01","kind":"turn_complete"}"#,
                #"D> {"type":"session_title_changed","session_id":"sess_01K4SJKHR00000000000SESS01","title":"Run the tests"}"#,
            ]
        ),
        (
            "reconnect",
            [
                #"C> {"type":"remote_hello","device_name":"mew mobile"}"#,
                #"C> {"type":"ping"}"#,
                #"C> {"type":"attach_session","session_id":"sess_01K4SJKHR00000000000SESS01","client_kind":"mobile"}"#,
                #"D> {"type":"remote_ready","scope":"control"}"#,
                #"D> {"type":"pong","version":"0.2.0"}"#,
                #"D> {"type":"session_ready","session_id":"sess_01K4SJKHR00000000000SESS01","cwd":"/Users/me/app","model":"sonnet-x","provider":"anthropic","permission_mode":"standard"}"#,
                #"D> {"type":"thinking_variant_changed","variant":"high"}"#,
                #"D> {"type":"session_history_page","session_id":"sess_01K4SJKHR00000000000SESS01","messages":[{"id":"01K4SJKJXG000000000000MSG1","session_id":"01K4SJKHR00000000000SESS01","role":"user","parts":[{"type":"text","id":"01K4SJKJXG0000000000PARTV1","message_id":"01K4SJKJXG000000000000MSG1","session_id":"01K4SJKHR00000000000SESS01","text":"Run the tests"}],"time":{"created":1757500001200}},{"id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","role":"assistant","parts":[{"type":"text","id":"01K4SJKKMY00000000000PART1","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","text":"I'll run the test suite."},{"type":"tool_call","id":"01K4SJKM9800000000000PART2","message_id":"01K4SJKKKC000000000000MSG2","session_id":"01K4SJKHR00000000000SESS01","tool_name":"bash","call_id":"call_1","state":{"status":"completed","input":{"command":"swift test"},"output":"Test Suite passed\n","time":{"start":1757500003000,"end":1757500008800}}}],"time":{"created":1757500001900,"completed":1757500002900},"assistant":{"provider_id":"anthropic","model_id":"sonnet-x","cost":0.0063,"tokens":{"input":2400,"output":120,"reasoning":0,"cache_read":2048,"cache_write":0},"finish":"tool_use"}},{"id":"01K4SJKTH8000000000000MSG3","session_id":"01K4SJKHR00000000000SESS01","role":"user","parts":[{"type":"tool_result","id":"01K4SJKTJT00000000000PART3","message_id":"01K4SJKTH8000000000000MSG3","session_id":"01K4SJKHR00000000000SESS01","call_id":"call_1"}],"time":{"created":1757500009000}},{"id":"01K4SJKVDC000000000000MSG4","session_id":"01K4SJKHR00000000000SESS01","role":"assistant","parts":[{"type":"text","id":"01K4SJKVEY00000000000PART4","message_id":"01K4SJKVDC000000000000MSG4","session_id":"01K4SJKHR00000000000SESS01","text":"All tests pass."}],"time":{"created":1757500009900,"completed":1757500010400},"assistant":{"provider_id":"anthropic","model_id":"sonnet-x","cost":0.0058,"tokens":{"input":2720,"output":24,"reasoning":0,"cache_read":2400,"cache_write":0},"finish":"stop"}},{"id":"01K4SJNP3G000000000000MSG5","session_id":"01K4SJKHR00000000000SESS01","role":"user","parts":[{"type":"text","id":"01K4SJNP5200000000000PART5","message_id":"01K4SJNP3G000000000000MSG5","session_id":"01K4SJKHR00000000000SESS01","text":"Push it"}],"time":{"created":1757500070000}},{"id":"01K4SJNPWG000000000000MSG6","session_id":"01K4SJKHR00000000000SESS01","role":"assistant","parts":[{"type":"tool_call","id":"01K4SJNPY200000000000PART6","message_id":"01K4SJNPWG000000000000MSG6","session_id":"01K4SJKHR00000000000SESS01","tool_name":"bash","call_id":"call_2","state":{"status":"running","input":{"command":"git push"},"output":"","time":{"start":1757500071400}}}],"time":{"created":1757500070800}}],"replace":true}"#,
                #"D> {"type":"permission_request","request_id":"01K4SJNQJC000000000000REQ4","tool_name":"bash","input":{"command":"git push"}}"#,
                #"C> {"type":"list_sessions"}"#,
                #"D> {"type":"session_list","sessions":[{"session_id":"sess_01K4SJKHR00000000000SESS01","state":"running","model":"sonnet-x","provider":"anthropic","created_at":1757500000000,"last_message_at":1757500070800,"summary":"Run the tests","client_count":1,"cwd":"/Users/me/app","last_turn_failed":false,"archived":false,"pinned":false,"pending_permissions":1,"pending_questions":0,"first_message":"Run the tests"}]}"#,
                #"D> {"type":"group_list","groups":[]}"#,
                #"C> {"type":"permission_response","request_id":"01K4SJNQJC000000000000REQ4","decision":"deny"}"#,
                #"D> {"type":"request_resolved","request_id":"01K4SJNQJC000000000000REQ4"}"#,
                #"D> {"type":"session_attention_changed","session_id":"sess_01K4SJKHR00000000000SESS01","pending_permissions":0,"pending_questions":0}"#,
                #"D> {"type":"part_updated","part_id":"01K4SJNPY200000000000PART6","part":{"type":"tool_call","id":"01K4SJNPY200000000000PART6","message_id":"01K4SJNPWG000000000000MSG6","session_id":"01K4SJKHR00000000000SESS01","tool_name":"bash","call_id":"call_2","state":{"status":"error","input":{"command":"git push"},"error":"permission denied: user denied","time":{"start":1757500071400,"end":1757500099000}}}}"#,
                #"D> {"type":"tool_end","call_id":"call_2","success":false}"#,
            ]
        ),
    ]
}
