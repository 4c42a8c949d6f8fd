import MewBase
import MewIdentity
import MewWire
import Testing

@Suite("Records and identifiers")
struct RecordTests {
    @Test("a request and an answer carry their type when they are stored by themselves")
    func storedAlone() throws {
        let contents: [Request.Content] = [
            .permission(toolName: "bash", input: ["command": "ls"]), .workspacePermission(path: "/etc"),
            .subagentPermission(parentCallID: "c", toolName: "bash", input: nil),
            .askUser(questions: [Question(prompt: "p", options: [QuestionOption(label: "l")])]),
            .planApproval(planPath: "p", planMarkdown: "m", persona: "q"), .goal(objective: "o"),
        ]
        for content in contents {
            let request = Request(
                id: .text("r"), callID: content.isPermission ? "" : "c", content: content, shown: content.shownText)
            #expect(try Request.decode(try JSON(parsing: request.encoded())) == request)
            #expect(try Request.Content(shown: content.shownText) == content)
        }
        let answers: [Answer.Content] = [
            .permission(.allowOnce), .questions(["a"]), .plan(approved: true, feedback: nil), .goal(accepted: false),
        ]
        for content in answers {
            let answer = Answer(requestID: .number(1), content: content)
            #expect(try Answer.decode(try JSON(parsing: answer.encoded())) == answer)
        }
        #expect(throws: FieldError.self) { try Answer.decode(["type": "prompt", "request_id": "r"]) }
        #expect(throws: FieldError.self) { try Request.decode(["type": "pong", "request_id": "r"]) }
    }

    @Test("what is shown is the stock request without its IDs, and its digest covers request and text")
    func shown() throws {
        let content = Request.Content.permission(toolName: "bash", input: ["command": "swift test"])
        #expect(
            content.shownText == #"{"type":"permission_request","tool_name":"bash","input":{"command":"swift test"}}"#)
        let question = Request.Content.askUser(questions: [])
        #expect(question.shownText == #"{"type":"ask_user_request","questions":[]}"#)
        // printf 'mew/shown/1\0R\0{}' | sha256sum
        let digest = ShownDigest(of: "{}", request: .text("R"))
        #expect(digest.hex == "ffcfff317a8c57bd8eccb2a61f36c7d8823ec32aa520bde1e80d967174df9f3b")
        #expect(ShownDigest(hex: digest.hex) == digest)
        #expect(ShownDigest(hex: digest.hex.uppercased()) == nil && ShownDigest(hex: digest.hex.dropLast()) == nil)
        #expect(ShownDigest(of: "{}", request: .text("S")) != digest)
        #expect(ShownDigest(of: "{ }", request: .text("R")) != digest)
    }

    @Test("a shown text that is no request we know is refused", arguments: ["", "{}", "[]", #"{"type":"pong"}"#])
    func unknownShown(text: String) {
        #expect(throws: FieldError.self) { try Request.Content(shown: text) }
    }

    @Test("the decision of an answer in one word")
    func decisions() {
        #expect(Answer.Content.permission(.allowSession).decision == "allow_session")
        #expect(Answer.Content.questions(["x"]).decision == nil)
        #expect(Answer.Content.plan(approved: false, feedback: "f").decision == "rejected")
        #expect(Answer.Content.goal(accepted: true).decision == "accepted")
    }

    @Test("a tool state has the fields of its status and no others")
    func toolStates() throws {
        let time = ToolTime(start: WallTime(milliseconds: 1))
        for (phase, text) in [
            (.pending, #"{"status":"pending","input":{},"time":{"start":1}}"#),
            (.running(output: ""), #"{"status":"running","input":{},"output":"","time":{"start":1}}"#),
            (.error("no"), #"{"status":"error","input":{},"error":"no","time":{"start":1}}"#),
            (.completed(.init(output: "y")), #"{"status":"completed","input":{},"output":"y","time":{"start":1}}"#),
        ] as [(ToolState.Phase, String)] {
            let state = ToolState(input: [:], phase: phase, time: time)
            #expect(String(decoding: state.encoded(), as: UTF8.self) == text)
            #expect(try ToolState.decode(try JSON(parsing: text)) == state)
        }
        let withoutOutput = try JSON(parsing: #"{"status":"running","input":1,"time":{"start":1}}"#)
        #expect(try ToolState.decode(withoutOutput).phase == .running(output: ""))
    }

    @Test("every kind of part goes there and back, its default fields left out")
    func parts() throws {
        let ids =
            #""id":"01K4SJKKMY00000000000PART1","message_id":"01K4SJKKKC000000000000MSG2","#
            + #""session_id":"01K4SJKHR00000000000SESS01""#
        for rest in [
            #""text":"a""#, #""text":"a","synthetic":true"#,
        ] {
            try expectSame(#"{"type":"text",\#(ids),\#(rest)}"#)
        }
        try expectSame(#"{"type":"reasoning",\#(ids),"text":"a","signature":"s","encrypted_content":"e"}"#)
        try expectSame(#"{"type":"reasoning",\#(ids),"text":""}"#)
        try expectSame(#"{"type":"file",\#(ids),"mime":"image/png","filename":"a.png","url":"/a.png"}"#)
        try expectSame(#"{"type":"tool_result",\#(ids),"call_id":"c"}"#)
        try expectSame(
            #"{"type":"compaction",\#(ids),"auto":true,"overflow":false,"tail_start_id":"01K4SJKKKC000000000000MSG2","#
                + #""summary":"s","removed_count":3}"#)
        #expect(
            throws: FieldError("must be one of text, reasoning, file, tool_call, tool_result, compaction", path: "type")
        ) {
            try Part.decode(try JSON(parsing: #"{"type":"hologram",\#(ids)}"#))
        }
    }

    private func expectSame(_ text: String) throws {
        let part = try Part.decode(try JSON(parsing: text))
        #expect(String(decoding: part.encoded(), as: UTF8.self) == text)
    }

    @Test("whole doubles keep their fraction, integers are read as doubles, infinite costs are written as 0.0")
    func doubles() throws {
        #expect(String(decoding: SessionUsage(cost: 3).encoded(), as: UTF8.self).contains(#""cost":3.0,"#))
        #expect(String(decoding: SessionUsage(cost: .nan).encoded(), as: UTF8.self).contains(#""cost":0.0,"#))
        let whole =
            #"{"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost":7,"turns":0}"#
        #expect(try SessionUsage.decode(try JSON(parsing: whole)).cost == 7)
    }

    @Test("a project's last use is milliseconds above 10^11 and seconds up to it")
    func lastUse() {
        func normalized(_ value: Int64) -> Int64? {
            ProjectInfo(path: "p", displayName: "p", sessionCount: 0, lastUsedAt: WallTime(milliseconds: value))
                .normalizedLastUse?.milliseconds
        }
        #expect(normalized(100_000_000_001) == 100_000_000_001)
        #expect(normalized(100_000_000_000) == 100_000_000_000_000)
        #expect(normalized(-JSON.maxInteger) == -JSON.maxInteger * 1_000)
    }

    @Test("identifiers: sessions and groups have their prefix, ULIDs are strict, numbers do not overflow")
    func identifiers() throws {
        let ulid = ULID(high: 5, low: 6)
        #expect(SessionID(ulid).text == "sess_\(ulid)" && SessionID(ulid).ulid == ulid)
        #expect(SessionID("other")?.ulid == nil && SessionID("") == nil)
        #expect(GroupID(ulid).text == "grp_\(ulid)")
        #expect(PartID("01k4sjkkmy00000000000part1") == nil && PartID(ulid.description)?.ulid == ulid)
        #expect(SequenceNumber(.max).next == SequenceNumber(.max) && SequenceNumber.zero.next == .first)
        #expect(throws: FieldError.self) { try MessageID.decode("01K4SJKKKC000000000000MSG") }
        #expect(throws: FieldError.self) { try RequestID.decode(.integer(-1)) }
        #expect(throws: FieldError.self) { try RequestID.decode(.string(String(repeating: "x", count: 129))) }
    }

    @Test("a node ID travels as 64 hex digits")
    func by() throws {
        let node = try #require(NodeID(bytes: (0..<32).map { UInt8($0) }))
        let by = By(node: node, name: "phone", clientKind: .mobile)
        let text = String(decoding: by.encoded(), as: UTF8.self)
        #expect(text.hasPrefix(#"{"node_id":"000102030405060708090a0b0c0d0e0f1011"#))
        #expect(try By.decode(try JSON(parsing: text)) == by)
        #expect(throws: FieldError("must be a node ID of 64 hex digits", path: "node_id")) {
            try By.decode(["node_id": "00", "name": "x", "client_kind": "cli"])
        }
    }

    @Test("foreign JSON is flattened so that the deepest message around it stays within 64 levels")
    func flattening() throws {
        var deep: JSON = 1
        for _ in 0..<80 { deep = [deep] }
        let input = deep.flattened()
        #expect(input.nesting == JSON.embeddedNesting)
        let id = ULID(high: 0, low: 0)
        let call = Part.ToolCall(
            toolName: "t", callID: "c",
            state: ToolState(input: input, phase: .pending, time: ToolTime(start: WallTime(milliseconds: 0))))
        let message = Message(
            id: MessageID(id), session: id, role: .assistant,
            parts: [Part(id: PartID(id), messageID: MessageID(id), session: id, content: .toolCall(call))],
            time: MessageTime(created: WallTime(milliseconds: 0)))
        let bytes = try #require(DaemonFrame(.sessionHistory(.init(messages: [message]))).encoded(for: .native))
        #expect(try JSON(parsing: bytes).nesting == JSON.embeddedNesting + 6)
        #expect(([[1], 2] as JSON).flattened(below: 1) == ["[1]", 2])
        #expect((["a": ["b": [:]]] as JSON).flattened(below: 2) == ["a": ["b": "{}"]])
    }
}
