import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@Suite("Frames and their envelope")
struct FrameTests {
    private let operation = OperationID(ULID(high: 1, low: 2))
    private let session = SessionID(ULID(high: 3, low: 4))

    @Test("a client's frame carries all native fields there and back, after the message's own")
    func clientEnvelope() throws {
        let frame = ClientFrame(.guide(.init(text: "x")), operation: operation, ref: "r1", sessionID: session)
        let bytes = try #require(frame.encoded(for: .native))
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"type":"guide","text":"x","session_id":"\#(session)","op_id":"\#(operation)","ref":"r1"}"#)
        #expect(try ClientFrame.decode(bytes, from: .native).frame == frame)
    }

    @Test("a daemon's frame carries all native fields there and back, after the message's own")
    func daemonEnvelope() throws {
        let frame = DaemonFrame(
            .toolStart(.init(callID: "c")), sessionID: session, sequence: SequenceNumber(7), ref: "r1")
        let bytes = try #require(frame.encoded(for: .native))
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"type":"tool_start","call_id":"c","session_id":"\#(session)","seq":7,"ref":"r1"}"#)
        #expect(try DaemonFrame.decode(bytes, from: .native).frame == frame)
    }

    @Test("on a stock link the envelope is neither written nor read")
    func stockEnvelope() throws {
        let client = ClientFrame(.cancel(.init()), operation: operation, ref: "r1", sessionID: session)
        #expect(client.encoded(for: .stock) == Array(#"{"type":"cancel"}"#.utf8))
        let read = try ClientFrame.decode(try #require(client.encoded(for: .native)), from: .stock).frame
        #expect(read == ClientFrame(.cancel(.init())))
        let daemon = DaemonFrame(.sessionCleared, sessionID: session, sequence: .first, ref: "r1")
        #expect(daemon.encoded(for: .stock) == Array(#"{"type":"session_cleared"}"#.utf8))
        #expect(try DaemonFrame.decode(try #require(daemon.encoded(for: .native)), from: .stock).frame.sequence == nil)
    }

    @Test("a message that names its session says so once, and a frame finds it in either place")
    func ownSession() throws {
        let frame = ClientFrame(.deleteSession(.init(sessionID: session)), operation: operation)
        #expect(frame.sessionID == session)
        let bytes = try #require(frame.encoded(for: .native))
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"type":"delete_session","session_id":"\#(session)","op_id":"\#(operation)"}"#)
        #expect(try ClientFrame.decode(bytes, from: .native).frame == frame)
        #expect(ClientFrame(.ping, sessionID: session).sessionID == session)
    }

    @Test("every message takes an envelope there and back, and writes no key twice")
    func everyEnvelope() throws {
        func check<F: Equatable, E>(_ frame: F, _ bytes: [UInt8]?, _ decode: ([UInt8]) -> Decoded<F, E>) throws {
            let bytes = try #require(bytes)
            #expect(decode(bytes) == .decoded(frame))
            #expect(try JSON(parsing: bytes).utf8 == bytes, "a parser drops the first of two equal keys")
        }
        for form in WireForm.client {
            let message = try ClientFrame.decode(Array(form.text.utf8), from: .native).frame.message
            let frame = ClientFrame(
                message, operation: operation, ref: "r", sessionID: message.sessionID == nil ? session : nil)
            try check(frame, frame.encoded(for: .native)) { ClientFrame.decode($0, from: .native) }
        }
        for form in WireForm.daemon {
            let message = try DaemonFrame.decode(Array(form.text.utf8), from: .native).frame.message
            let hasNumber = form.fields.contains { $0.name == "seq" }
            let frame = DaemonFrame(
                message, sessionID: message.sessionID == nil ? session : nil,
                sequence: hasNumber ? nil : SequenceNumber(3), ref: "r")
            try check(frame, frame.encoded(for: .native)) { DaemonFrame.decode($0, from: .native) }
        }
    }

    @Test("the number in a receipt or in caught_up is not the number of an event")
    func ownSequence() throws {
        let receipt = DaemonMessage.Receipt(
            operation: operation, state: .stored, isRepeat: false, sessionID: session, sequence: SequenceNumber(9),
            at: WallTime(milliseconds: 1))
        for message in [DaemonMessage.receipt(receipt), .caughtUp(.init(sessionID: session, sequence: .first))] {
            let bytes = try #require(DaemonFrame(message, ref: "r").encoded(for: .native))
            let frame = try DaemonFrame.decode(bytes, from: .native).frame
            #expect(frame == DaemonFrame(message, ref: "r") && frame.sequence == nil && frame.sessionID == session)
        }
    }

    @Test("a broken receipt or caught_up is not taken for an event either, a broken event keeps its number")
    func brokenSequence() {
        for text in [#"{"type":"receipt","seq":9}"#, #"{"type":"caught_up","seq":9}"#] {
            guard case .invalid(_, let envelope) = DaemonFrame.decode(Array(text.utf8), from: .native) else {
                Issue.record("accepted")
                continue
            }
            #expect(envelope.sequence == nil)
        }
        let event = #"{"type":"tool_start","seq":9}"#
        #expect(
            DaemonFrame.decode(Array(event.utf8), from: .native)
                == .invalid(sentence: "call_id is missing", .init(sequence: SequenceNumber(9))))
    }

    @Test("an event from the future is handed back by name with its place, a request with what its refusal needs")
    func future() {
        let event = #"{"type":"hologram","x":[1],"session_id":"\#(session)","seq":9,"ref":"r"}"#
        #expect(
            DaemonFrame.decode(Array(event.utf8), from: .native)
                == .unknownType(name: "hologram", .init(sessionID: session, sequence: SequenceNumber(9), ref: "r")))
        let request = #"{"type":"upload","op_id":"\#(operation)","ref":"r","session_id":"\#(session)"}"#
        #expect(
            ClientFrame.decode(Array(request.utf8), from: .native)
                == .unknownType(name: "upload", .init(operation: operation, ref: "r", sessionID: session)))
        #expect(ClientFrame.decode(Array(request.utf8), from: .stock) == .unknownType(name: "upload", .init()))
    }

    @Test("an invalid request still says which operation and which question it was")
    func invalidEnvelope() {
        let request = #"{"type":"prompt","text":7,"op_id":"\#(operation)","ref":"r"}"#
        #expect(
            ClientFrame.decode(Array(request.utf8), from: .native)
                == .invalid(
                    sentence: "text must be a string, not an integer", .init(operation: operation, ref: "r")))
    }

    @Test("a type name is cut to 64 bytes at a character")
    func longTypeName() {
        let name = String(repeating: "é", count: 40)
        let text = #"{"type":"\#(name)"}"#
        #expect(
            DaemonFrame.decode(Array(text.utf8), from: .native)
                == .unknownType(name: String(repeating: "é", count: 32), .init()))
    }

    @Test(
        "what is no message is refused in a sentence",
        arguments: [
            ("", "not valid JSON: the text ends where a value was expected at byte 0"),
            ("[]", "the message must be a JSON object"), ("{}", "type is missing"),
            (#"{"type":7}"#, "type must be a string, not an integer"),
            (#"{"type":null}"#, "type must be a string, not null"),
        ])
    func refusals(text: String, sentence: String) {
        #expect(ClientFrame.decode(Array(text.utf8), from: .stock) == .invalid(sentence: sentence, .init()))
        #expect(DaemonFrame.decode(Array(text.utf8), from: .native) == .invalid(sentence: sentence, .init()))
    }

    @Test("bounds: a ref of 64 bytes, a session of 128, a hundred operations; one more is refused")
    func bounds() {
        func isAccepted(_ text: String) -> Bool {
            if case .decoded = ClientFrame.decode(Array(text.utf8), from: .native) { true } else { false }
        }
        func text(_ count: Int) -> String { String(repeating: "x", count: count) }
        #expect(isAccepted(#"{"type":"ping","ref":"\#(text(64))"}"#))
        #expect(!isAccepted(#"{"type":"ping","ref":"\#(text(65))"}"#))
        #expect(isAccepted(#"{"type":"delete_session","session_id":"\#(text(128))"}"#))
        #expect(!isAccepted(#"{"type":"delete_session","session_id":"\#(text(129))"}"#))
        #expect(!isAccepted(#"{"type":"delete_session","session_id":""}"#))
        func query(_ count: Int) -> String {
            let list = Array(repeating: "\"\(operation)\"", count: count).joined(separator: ",")
            return #"{"type":"receipt_query","op_ids":[\#(list)],"settle":false}"#
        }
        #expect(isAccepted(query(100)))
        #expect(!isAccepted(query(101)))
    }

    @Test("numbers end where their type does, and at 2^53-1")
    func numbers() {
        func isAccepted(_ rows: String) -> Bool {
            let text = #"{"type":"terminal_open","rows":\#(rows),"cols":1}"#
            if case .decoded = ClientFrame.decode(Array(text.utf8), from: .native) { return true }
            return false
        }
        #expect(isAccepted("65535") && isAccepted("0"))
        #expect(!isAccepted("65536") && !isAccepted("-1") && !isAccepted("1.0") && !isAccepted("1e2"))
        func sequence(_ number: String) -> SequenceNumber? {
            let text = #"{"type":"session_cleared","seq":\#(number)}"#
            return try? DaemonFrame.decode(Array(text.utf8), from: .native).frame.sequence
        }
        #expect(sequence("9007199254740991") == SequenceNumber(9_007_199_254_740_991))
        #expect(sequence("9007199254740992") == nil)
    }

    @Test("a request may be known by a number, which stays one; number and text are never equal")
    func requestNumbers() throws {
        let text = #"{"type":"permission_response","request_id":7,"decision":"deny"}"#
        guard case .answer(let answer) = try ClientFrame.decode(Array(text.utf8), from: .stock).frame.message else {
            Issue.record("no answer")
            return
        }
        #expect(answer.requestID == .number(7) && answer.requestID != .text("7") && answer.requestID.description == "7")
        #expect(ClientFrame(.answer(answer)).encoded(for: .stock) == Array(text.utf8))
    }
}
