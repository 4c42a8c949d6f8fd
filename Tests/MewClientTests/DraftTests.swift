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

    @Test("the same text again is the same draft, which the receipt of the first clears")
    func sameText() throws {
        var records = ClientRecords()
        let draft = try written("hello", &records)
        var operation = try begin(&records, "hello", from: draft)
        #expect(try written("hello", &records) == draft)
        operation.state = .stored(nil)
        records.record(operation)
        #expect(records.drafts[desk, id] == nil)
        #expect(try written("hello", &records) > draft, "begun anew")
    }

    @Test(
        "a draft can be sent once, and again only when the first certainly did not arrive",
        arguments: [
            (MewClient.Operation.State.sending, false), (.unknown, false), (.stored(nil), false),
            (.settled(nil), false), (.refused(.leaseHeld, message: ""), true), (.absent, true),
        ])
    func sentOnce(state: MewClient.Operation.State, again: Bool) throws {
        var records = ClientRecords()
        let draft = try written("hello", &records)
        try records.checkUnsent(draft, to: id, of: desk)
        var operation = try begin(&records, "hello", from: draft)
        operation.state = state
        records.record(operation)
        let check = { try records.checkUnsent(draft, to: id, of: self.desk) }
        if again { try check() } else { #expect(throws: ClientStoreError.self) { try check() } }
    }

    @Test("a draft that certainly did not arrive can be sent again although that was not kept; one that arrived cannot")
    func knownHere() throws {
        var records = ClientRecords()
        let draft = try written("hello", &records)
        _ = try begin(&records, "hello", from: draft)
        func check(_ state: MewClient.Operation.State) throws {
            try records.checkUnsent(draft, to: id, of: desk) { kept in
                var known = kept
                known.state = state
                return known
            }
        }
        for state in [MewClient.Operation.State.refused(.leaseHeld, message: ""), .absent] { try check(state) }
        for state in [MewClient.Operation.State.sending, .unknown, .stored(nil), .delivered(nil), .settled(nil)] {
            #expect(throws: ClientStoreError.self) { try check(state) }
        }
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
        #expect(try ClientRecords(stored: records.stored).drafts.last == records.drafts.last)
        #expect(records.drafts.last > draft, "clearing it was a change")
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
