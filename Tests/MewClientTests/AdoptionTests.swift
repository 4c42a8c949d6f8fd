import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one
private let epoch = Epoch(ULID(high: 1, low: 1))

@Suite("What earlier programs of a device asked", .timeLimit(.minutes(1)))
struct AdoptionTests {
    /// A program that sends a prompt and ends without a word about it: what it kept still says "sending".
    private func leaveBehind(_ stage: Stage, state: MewClient.Operation.State = .sending) async throws
        -> MewClient.Operation
    {
        let (node, instance) = (stage.record.node, ClientInstance("former"))
        return try await stage.store.update { records throws(ClientStoreError) in
            let begun = records.begin(
                .prompt, at: node, session: id, by: instance, wall: WallTime(milliseconds: 1),
                entropy: ConstantEntropy(value: 0))
            guard var operation = begun else { throw .tooManyOperations }
            operation.state = state
            records.record(operation)
            return operation
        }
    }

    @Test(
        "an app that starts again shows them, asks, and settles what nobody knows about",
        arguments: [
            (MewClient.Operation.State.sending, true), (.unknown, true), (.stored(nil), false),
            (.delivered(nil), false),
        ])
    func adopts(state: MewClient.Operation.State, settles: Bool) async throws {
        let stage = Stage()
        let left = try await leaveBehind(stage, state: state)
        try await stage.run { feed in
            // Before there is a connection.
            _ = try await feed.operation { $0.id == left.id && $0.state == (settles ? .unknown : state) }
            #expect(await stage.supervisor.view.operations[left.id] != nil)
            let link = try await stage.accept()
            try await link.welcome()
            let asked = try await link.control.receive()
            guard case .receiptQuery(let query) = asked.message else { throw FakeDaemonError("no query") }
            #expect(query.operations == [left.id] && query.settle == settles)
            try await link.control.receipt(left.id, .done, result: .completed, ref: asked.ref)
            _ = try await feed.operation { $0.id == left.id && $0.state == .settled(.completed) }
            #expect(await stage.store.records().operations.isEmpty)
        }
    }

    @Test("what a program that still runs is sending is left alone, until that one has ended")
    func leavesTheLiving() async throws {
        let stage = Stage()
        let left = try await leaveBehind(stage)
        let program = OtherProgram("second", sharing: stage.store, beside: [ClientInstance("former")])
        let second = stage.supervisor(of: program)
        try await stage.run(second) { feed in
            let link = try await stage.accept()
            try await link.welcome()
            try await feed.ready()
            #expect(await second.view.operations.isEmpty)
            // Asking is allowed; killing is not.
            async let asked = second.check([left], settle: true)
            let request = try await link.control.receive()
            guard case .receiptQuery(let query) = request.message else { throw FakeDaemonError("no query") }
            #expect(!query.settle)
            try await link.control.receipt(left.id, .absent, ref: request.ref)
            #expect(try await asked.map(\.state) == [.sending])
            #expect(await stage.store.records().operations.map(\.state) == [.sending])
        }
        program.ended(ClientInstance("former"))
        let third = stage.supervisor(of: program)
        try await stage.run(third) { feed in
            let link = try await stage.accept()
            try await link.welcome()
            let request = try await link.control.receive()
            guard case .receiptQuery(let query) = request.message else { throw FakeDaemonError("no query") }
            #expect(query.operations == [left.id] && query.settle)
            try await link.control.receipt(left.id, .absent, ref: request.ref)
            _ = try await feed.operation { $0.id == left.id && $0.state == .absent }
        }
    }

    @Test("two programs at once: each follows its own, and neither settles what the other is sending")
    func twoPrograms() async throws {
        let stage = Stage()
        let other = OtherProgram("other", sharing: stage.store, beside: [stage.store.instance])
        let second = stage.supervisor(of: other)
        try await stage.run { feed in
            let (_, channel) = try await stage.attached(feed, id, epoch: epoch)
            let prompt = try await stage.supervisor.prompt("hi", in: id)
            #expect(try await channel.receive().operation == prompt)
            try await stage.run(second) { secondFeed in
                let link = try await stage.accept()
                try await link.welcome()
                try await secondFeed.ready()
                async let sessions = second.listSessions()
                let request = try await link.control.receive()
                #expect(request.message.kind == .listSessions, "no query came before it")
                try await link.control.send(.sessionList(DaemonMessage.SessionList(sessions: [])), ref: request.ref)
                #expect(try await sessions.isEmpty)
                #expect(await second.view.operations.isEmpty)
            }
            try await channel.receipt(prompt, .stored)
            _ = try await feed.operation { $0.id == prompt && $0.state == .stored(nil) }
        }
    }

    @Test("a command that tells only of its own leaves them to `mew ops`")
    func doesNotAdopt() async throws {
        let stage = Stage()
        let left = try await leaveBehind(stage)
        let supervisor = DaemonSupervisor(record: stage.record, environment: stage.environment, adopts: false)
        try await stage.run(supervisor) { feed in
            try await stage.accept().welcome()
            try await feed.ready()
            #expect(await supervisor.view.operations.isEmpty)
        }
        #expect(await stage.store.records().operations.map(\.id) == [left.id])
    }
}
