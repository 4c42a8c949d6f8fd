import MewBase
import MewIdentity
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

@Suite("Drafts, and what was made from them")
struct DraftTests {
    private let desk = SeededNode.one
    private let lamp = SecretKey.generate(entropy: SeededEntropy(seed: 2)).node

    private func session(_ number: Int) throws -> SessionID { try #require(SessionID("sess_\(number)")) }

    private func begin(
        _ records: inout ClientRecords, _ text: String, from draft: DraftRevision? = nil
    ) throws -> MewClient.Operation {
        let content = try #require(OperationContent(.prompt(ClientMessage.Prompt(text: text))))
        let begun = records.begin(
            .prompt, at: desk, session: id, by: ClientInstance("this"), saying: content, from: draft,
            wall: WallTime(milliseconds: 7), entropy: SeededEntropy(seed: 7))
        return try #require(begun)
    }

    private func written(_ text: String, _ records: inout ClientRecords) throws -> DraftRevision {
        let revision = records.drafts.write(text, to: id, of: desk)
        return try #require(revision)
    }

    @Test("a receipt clears the text it is about, and not what was written since", arguments: [false, true])
    func cleared(isEdited: Bool) throws {
        for state in [Operation.State.stored(nil), .delivered(nil), .settled(.completed)] {
            var records = ClientRecords()
            let draft = try written("hello", &records)
            var operation = try begin(&records, "hello", from: draft)
            records.record(operation)
            #expect(records.drafts[desk, id]?.text == "hello", "it has not arrived")
            if isEdited { _ = records.drafts.write("hello again", to: id, of: desk) }
            operation.state = state
            records.record(operation)
            #expect(records.drafts[desk, id]?.text == (isEdited ? "hello again" : nil))
        }
    }

    @Test("what was refused, never arrived or is unknown leaves the draft as it is")
    func kept() throws {
        for state in [Operation.State.unknown, .absent, .refused(.leaseHeld, message: "")] {
            var records = ClientRecords()
            let draft = try written("hello", &records)
            var operation = try begin(&records, "hello", from: draft)
            operation.state = state
            records.record(operation)
            #expect(records.drafts[desk, id]?.revision == draft)
        }
    }

    @Test("of two sends of one draft each clears nothing but its own")
    func twoSends() throws {
        var records = ClientRecords()
        let first = try written("one", &records)
        var one = try begin(&records, "one", from: first)
        _ = records.drafts.write("", to: id, of: desk)
        let second = try written("one", &records)
        #expect(first != second, "cleared and begun anew is another draft")
        one.state = .stored(nil)
        records.record(one)
        #expect(records.drafts[desk, id]?.revision == second)
    }

    @Test("64 KiB are kept and one byte more is refused; the hundred-and-first draft ends the oldest; all have 2 MiB")
    func bounds() throws {
        var drafts = Drafts()
        let longest = String(repeating: "x", count: Drafts.maxBytes)
        let revisions = [longest, longest + "x"].map { drafts.write($0, to: id, of: desk) }
        #expect(revisions[0] != nil && revisions[1] == nil)
        #expect(drafts[desk, id]?.text == longest)
        for number in 1...Drafts.maxDrafts { _ = drafts.write("x", to: try session(number + 1), of: lamp) }
        #expect(drafts.all.count == Drafts.maxDrafts && drafts[desk, id] == nil)
        for number in 0..<33 { _ = drafts.write(longest, to: try session(number), of: desk) }
        #expect(drafts.all.count == Drafts.maxTotalBytes / Drafts.maxBytes)
        let (first, second) = (try session(0), try session(1))
        #expect(drafts[desk, first] == nil && drafts[desk, second] != nil)
    }

    @Test("drafts, and what unknown operations said, survive being stored; what arrived says nothing any more")
    func roundTrip() throws {
        var records = ClientRecords()
        let draft = try written("“hello”\n\u{1}", &records)
        var operation = try begin(&records, "“hello”\n\u{1}", from: draft)
        operation.state = .unknown
        records.record(operation)
        let read = try ClientRecords(stored: records.stored)
        #expect(read == records)
        #expect(read.operations.first?.content?.message == .prompt(ClientMessage.Prompt(text: "“hello”\n\u{1}")))
        operation.state = .stored(nil)
        records.record(operation)
        #expect(records.operations.first?.content == nil)
        #expect(try ClientRecords(stored: records.stored).drafts.lastRevision == draft.number)
    }

    @Test("what is too large to be kept is sent all the same, and cannot be sent again")
    func tooLarge() throws {
        let text = String(repeating: "x", count: OperationContent.maxBytes)
        #expect(OperationContent(.prompt(ClientMessage.Prompt(text: text))) == nil)
        var records = ClientRecords()
        let large = String(repeating: "x", count: OperationContent.maxBytes - 100)
        let kept = try (0..<5).map { try begin(&records, large + "\($0)").content != nil }
        #expect(kept == [true, true, true, true, false], "4 MiB in all")
    }

    @Test("forgetting a daemon forgets what was written to it")
    func forgotten() throws {
        var records = ClientRecords()
        try records.registry.add(DaemonRecord(node: desk, name: "desk", addedAt: WallTime(milliseconds: 0)))
        for node in [desk, lamp] { _ = records.drafts.write("x", to: id, of: node) }
        try records.forget(desk)
        #expect(records.drafts.all.map(\.daemon) == [lamp])
    }

    @Test(
        "the same words are not sent while nobody knows whether they arrived",
        arguments: [
            (MewClient.Operation.State.unknown, true), (.sending, false), (.stored(nil), false),
            (.delivered(nil), false),
        ])
    func twins(state: MewClient.Operation.State, blocks: Bool) throws {
        var records = ClientRecords()
        var operation = try begin(&records, "hello")
        operation.state = state
        records.record(operation)
        let words = { (text: String) in OperationContent(.prompt(ClientMessage.Prompt(text: text))) }
        let (same, other) = (try #require(words("hello")), try #require(words("hello!")))
        func found(_ content: OperationContent, _ session: SessionID, _ node: NodeID, runs: Bool = true) -> Bool {
            let store = OtherProgram(runs ? "this" : "later", sharing: MemoryStore(), beside: [])
            return records.unknown(content, to: session, of: node, as: store.asKnown) != nil
        }
        #expect(found(same, id, desk) == blocks)
        #expect(!found(other, id, desk))
        let elsewhere = try session(2)
        #expect(!found(same, elsewhere, desk))
        #expect(!found(same, id, lamp))
        #expect(found(same, id, desk, runs: false) == (blocks || state == .sending), "its program has ended")
    }
}

@Suite("Sending again", .timeLimit(.minutes(1)))
struct ResendTests {
    /// A prompt that is unknown, with its session attached again; the query about it is not answered.
    private func lost(
        _ stage: Stage, _ feed: Feed<ClientEvent>
    ) async throws -> (MewClient.Operation, [UInt8], FakeLink, FakeChannel) {
        let (_, channel) = try await stage.attached(feed, id, epoch: epoch)
        let prompt = try await stage.supervisor.prompt("hi", in: id)
        let original = try #require(try await channel.channel.receive())
        stage.daemon.breakLinks()
        let operation = try await feed.operation { $0.id == prompt && $0.state == .unknown }
        try await feed.phase { if case .waiting = $0 { true } else { false } }
        await stage.supervisor.triggered()
        let link = try await stage.accept()
        try await link.welcome()
        let again = try await link.channel()
        _ = try await again.receive()
        try await again.attach(id, epoch: epoch)
        try await feed.sessionPhase(.live)
        _ = try await link.control.receive()
        return (operation, original, link, again)
    }

    @Test("an unknown prompt goes out again under its own ID, byte for byte; nothing else does")
    func resends() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (operation, original, _, channel) = try await lost(stage, feed)
            async let result = stage.supervisor.resend(operation)
            let bytes = try await channel.channel.receive()
            #expect(bytes == original)
            _ = try await feed.operation { $0.id == operation.id && $0.state == .sending }
            try await channel.receipt(operation.id, .stored)
            let stored = try await result
            #expect(stored.state == .stored(nil))
            let again = await #expect(throws: ClientError.self) { try await stage.supervisor.resend(stored) }
            #expect(again?.code == .busy, "the daemon has it")
        }
    }

    @Test("one that was settled meanwhile is refused as settled: it never ran")
    func settled() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (operation, _, _, channel) = try await lost(stage, feed)
            async let result = stage.supervisor.resend(operation)
            _ = try await channel.receive()
            try await channel.receipt(operation.id, .refused, code: .opSettled)
            guard case .refused(.opSettled, _) = try await result.state else { throw FakeDaemonError("not refused") }
        }
    }

    @Test("an equal prompt is refused until the daemon has said how it stands with the unknown one, another one is not")
    func blocked() async throws {
        let stage = Stage()
        try await stage.run { feed in
            let (operation, _, link, channel) = try await lost(stage, feed)
            let error = await #expect(throws: ClientError.self) { try await stage.supervisor.prompt("hi", in: id) }
            #expect(error?.code == .busy)
            #expect(try await stage.supervisor.unknownPrompt("hi", in: id)?.id == operation.id)
            let other = try await stage.supervisor.prompt("ho", in: id)
            #expect(try await channel.receive().operation == other)
            async let answer = stage.supervisor.check([operation], settle: true)
            let request = try await link.control.receive()
            try await link.control.receipt(operation.id, .absent, ref: request.ref)
            #expect(try await answer.map(\.state) == [.absent])
            let again = try await stage.supervisor.prompt("hi", in: id)
            #expect(try await channel.receive().operation == again)
        }
    }

    @Test("a draft is shown, outlives the program, and goes when the daemon has it")
    func drafts() async throws {
        let stage = Stage()
        try await stage.remember()
        try await stage.supervisor.write("hello", to: id)
        let supervisor = DaemonSupervisor(record: stage.record, environment: stage.environment)
        try await stage.run(supervisor) { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            #expect(await supervisor.view.drafts[id]?.text == "hello")
            async let attached: Void = supervisor.attach(id)
            let channel = try await link.channel()
            _ = try await channel.receive()
            try await channel.attach(id, epoch: epoch)
            try await attached
            let operation = try await supervisor.promptDraft(in: id)
            #expect(try await channel.receive().message == .prompt(ClientMessage.Prompt(text: "hello")))
            #expect(await supervisor.view.drafts[id] != nil, "it may get lost yet")
            try await channel.receipt(operation, .stored)
            _ = try await feed.operation { $0.id == operation && $0.state == .stored(nil) }
            #expect(await supervisor.view.drafts[id] == nil)
            #expect(await stage.store.records().drafts.all.isEmpty)
            await #expect(throws: ClientError.self) { try await supervisor.promptDraft(in: id) }
        }
    }
}
