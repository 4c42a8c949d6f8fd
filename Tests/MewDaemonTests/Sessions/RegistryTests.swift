import MewBase
import MewIdentity
import MewSession
import MewSim
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

@Suite("all sessions of a daemon, over a store that forgets")
struct RegistryTests {
    private let permission = ToolPermission(
        toolName: "bash", input: ["command": "ls"], call: "c", sensitivity: .dangerous)

    /// A control channel and a session channel with a new session.
    private func open(
        _ bench: SessionsBench, device: UInt8 = 1
    ) throws -> (control: BenchClient, channel: BenchClient, id: SessionID) {
        let control = try bench.client(.control, device: device)
        let channel = try bench.client(.session, device: device)
        try channel.send(.newSession(.init(cwd: "/tmp", clientKind: .cli)))
        let id = try #require(try channel.take().ready?.sessionID)
        return (control, channel, id)
    }

    private func answer(_ request: Request, _ decision: PermissionDecision) -> ClientMessage {
        .answer(
            Answer(
                requestID: request.id, content: .permission(decision),
                shownDigest: ShownDigest(of: request.shown ?? "", request: request.id)))
    }

    @Test("new session, prompt, permission, answer, end: the receipts and the events of a native client")
    func wholeTurn() throws {
        let agent = ScriptedAgent([[.permission(permission), .emit(.notice("ran"))]])
        try SessionsBench.with("turn", agent: agent) { bench in
            let (control, channel, id) = try open(bench)
            _ = try control.take()
            try channel.send(.prompt(.init(text: "run")))
            let frames = try channel.take()
            #expect(frames.receipts.map(\.state) == [.stored, .started])
            #expect(frames.compactMap(\.sequence).map(\.rawValue) == [1, 2, 3])
            let request = try #require(frames.request)
            #expect(
                try control.kinds() == [
                    .sessionActivityChanged, .sessionAlert, .sessionAttentionChanged,
                ])
            try channel.send(answer(request, .allowOnce))
            let rest = try channel.take()
            #expect(
                rest.map(\.message.kind) == [
                    .requestResolved, .answerVerdict, .receipt, .errorEvent, .receipt, .sessionActivityChanged,
                    .sessionTitleChanged,
                ])
            #expect(rest.receipts.map(\.state) == [.done, .done])
            #expect(rest.compactMap(\.sequence).map(\.rawValue) == [4, 5, 6, 7])
            #expect(rest.allSatisfy { $0.sessionID == id })
            #expect(agent.deeds.count == 2)
        }
    }

    @Test("a repeated operation gets the original receipt and does nothing; other content is a conflict")
    func repeats() throws {
        let agent = ScriptedAgent([[.hang]])
        try SessionsBench.with("repeats", agent: agent) { bench in
            let (_, channel, _) = try open(bench)
            let operation = try channel.send(.prompt(.init(text: "run")))
            let first = try channel.take().receipts
            try channel.send(.prompt(.init(text: "run")), operation: operation)
            let again = try channel.take()
            #expect(again.map(\.message.kind) == [.receipt])
            #expect(again.receipts.map(\.isRepeat) == [true])
            #expect(again.receipts.map(\.turnID) == [first.last?.turnID])
            #expect(again.receipts.map(\.state) == [.started])
            try channel.send(.prompt(.init(text: "other")), operation: operation)
            #expect(try channel.take().receipts.map(\.code) == [.opConflict])
            #expect(agent.deeds.count == 1)
        }
    }

    @Test("a repeated new_session opens the session it made then")
    func repeatedNewSession() throws {
        try SessionsBench.with("new", agent: ScriptedAgent([])) { bench in
            let control = try bench.client(.control)
            let channel = try bench.client(.session)
            let new = ClientMessage.newSession(.init(cwd: "/tmp"))
            let operation = try channel.send(new)
            let id = try #require(try channel.take().ready?.sessionID)
            let second = try bench.client(.session)
            try second.send(new, operation: operation)
            let frames = try second.take()
            #expect(frames.receipts.map(\.isRepeat) == [true])
            #expect(frames.receipts.map(\.sessionID) == [id])
            #expect(frames.ready?.sessionID == id)
            try control.send(.listSessions)
            #expect(try control.take().sessionList?.count == 1)
        }
    }

    @Test("repeats survive a restart: the receipt is in the store")
    func repeatsAfterRestart() throws {
        let agent = ScriptedAgent([])
        try SessionsBench.with("restart", agent: agent) { bench in
            let (_, channel, id) = try open(bench)
            let operation = try channel.send(.prompt(.init(text: "run")))
            bench.kill(seed: 3)
            try bench.restart()
            let again = try bench.client(.session)
            try again.send(.attachSession(.init(sessionID: id)))
            _ = try again.take()
            try again.send(.prompt(.init(text: "run")), operation: operation)
            let receipt = try again.take().receipts.first
            #expect(receipt?.isRepeat == true && receipt?.state == .done && receipt?.result == .completed)
            #expect(agent.deeds.count == 2)
        }
    }

    @Test("receipt_query: what became of operations; absent ones can be made impossible")
    func receiptQuery() throws {
        try SessionsBench.with("query", agent: ScriptedAgent([])) { bench in
            let (control, channel, _) = try open(bench)
            let done = try #require(try channel.send(.prompt(.init(text: "run"))))
            let lost = OperationID(ULID(high: 0, low: 1 << 40))
            _ = try control.take()
            try control.send(.receiptQuery(.init(operations: [done, lost], settle: false)), ref: "q")
            let frames = try control.take()
            #expect(frames.receipts.map(\.state) == [.done, .absent])
            #expect(frames.allSatisfy { $0.ref == "q" })
            try control.send(.receiptQuery(.init(operations: [done, lost], settle: true)))
            #expect(try control.take().receipts.map(\.state) == [.done, .absent])
            _ = try channel.take()
            try channel.send(.prompt(.init(text: "late")), operation: lost)
            #expect(try channel.take().receipts.map(\.code) == [.opSettled])
            bench.kill(seed: 4)
            try bench.restart()
            let control2 = try bench.client(.control)
            try control2.send(.receiptQuery(.init(operations: [lost], settle: false)))
            #expect(try control2.take().receipts.map(\.code) == [.opSettled])
        }
    }

    @Test("a question about a receipt that is not kept any more is answered with op_expired, also before a restart")
    func expiredQuery() throws {
        try SessionsBench.with("expired", agent: ScriptedAgent([])) { bench in
            let (control, _, id) = try open(bench)
            func outcomes(_ control: BenchClient, _ operation: OperationID) throws -> [ErrorCode?] {
                _ = try control.take()
                try control.send(.receiptQuery(.init(operations: [operation], settle: false)))
                try control.send(.receiptQuery(.init(operations: [operation], settle: true)))
                try control.send(.renameSession(.init(sessionID: id, title: "x")), operation: operation)
                return try control.take().receipts.map(\.code)
            }
            let renamed = try #require(try control.send(.renameSession(.init(sessionID: id, title: "x"))))
            for _ in 0..<ReceiptLedger.rememberedPerDevice {
                try control.send(.pinSession(.init(sessionID: id, pinned: true)))
            }
            try bench.world.run(for: .seconds(31 * 86_400))
            let registry = bench.registry
            try bench.run {
                let environment = await registry.environment
                try await environment.store.prune(now: environment.wall)
            }
            #expect(try outcomes(control, renamed) == [.opExpired, .opExpired, .opExpired])
            bench.kill(seed: 3)
            try bench.restart()
            let after = try bench.client(.control)
            #expect(try outcomes(after, renamed) == [.opExpired, .opExpired, .opExpired])
        }
    }

    @Test("a device that left while its prompt ran hears the end of it on control")
    func receiptOnControl() throws {
        let gate = ScriptGate()
        try SessionsBench.with("left", agent: ScriptedAgent([[.wait(gate)]])) { bench in
            let (control, channel, _) = try open(bench)
            let other = try bench.client(.control, device: 2)
            let prompt = try channel.send(.prompt(.init(text: "run")))
            #expect(try control.take().receipts.isEmpty)
            try channel.leave()
            gate.open()
            try bench.settle()
            let receipts = try control.take().receipts
            #expect(receipts.map(\.operation) == [prompt])
            #expect(receipts.map(\.result) == [.completed])
            #expect(try other.take().receipts.isEmpty)
        }
    }

    @Test("messages on the wrong channel, without op_id, to no session, or for a session unknown")
    func refusals() throws {
        try SessionsBench.with("refusals", agent: ScriptedAgent([])) { bench in
            let (control, channel, id) = try open(bench)
            _ = try control.take()
            try control.send(.prompt(.init(text: "x")))
            #expect(try control.take().receipts.map(\.code) == [.wrongChannel])
            try channel.send(.listSessions, ref: "r")
            let refused = try channel.take()
            #expect(refused.errors.map(\.code) == [.wrongChannel])
            #expect(refused.first?.ref == "r")
            try channel.send(.attachSession(.init(sessionID: id)))
            #expect(try channel.take().errors.map(\.code) == [.wrongChannel])
            try channel.send(.prompt(.init(text: "x")), session: SessionID("sess_other"))
            #expect(try channel.take().receipts.map(\.code) == [.wrongChannel])
            let fresh = try bench.client(.session)
            try fresh.send(.attachSession(.init(sessionID: SessionID("sess_none")!)))
            #expect(try fresh.take().errors.map(\.code) == [.unknownSession])
            try fresh.send(.newSession(.init(cwd: "/no/such/place")))
            #expect(try fresh.take().receipts.map(\.code) == [.badCwd])
            try fresh.send(.newSession(.init(cwd: "/tmp", agent: "poet")))
            #expect(try fresh.take().receipts.map(\.code) == [.badInput])
            try control.send(.renameSession(.init(sessionID: SessionID("sess_none")!, title: "x")))
            #expect(try control.take().receipts.map(\.code) == [.unknownSession])
            let registry = bench.registry
            let frame = ClientFrame(.prompt(.init(text: "no number")))
            let client = channel.client
            try bench.run { await registry.handle(frame, from: client) }
            try bench.settle()
            #expect(try channel.take().errors.map(\.code) == [.opIDRequired])
            let phone = try bench.client(.stock, kind: .mobile)
            try phone.send(.prompt(.init(text: "x")))
            #expect(try phone.take().errors.map(\.message) == ["no session — send NewSession or AttachSession first"])
            try phone.send(.newSession(.init(cwd: "/no/such/place", clientKind: .mobile)))
            #expect(try phone.take().errors.map(\.message) == ["session cwd does not exist: /no/such/place"])
        }
    }

    @Test(
        "everyone hears of titles, activity and alerts: control without numbers, session channels with, phones of their own"
    )
    func broadcasts() throws {
        try SessionsBench.with("broadcast", agent: ScriptedAgent([])) { bench in
            let (control, channel, id) = try open(bench)
            let idle = try bench.client(.stock, kind: .mobile, device: 2, name: "phone")
            let web = try bench.client(.stock, kind: .web, device: 3, name: "browser")
            _ = try control.take()
            _ = try idle.take()
            try channel.send(.prompt(.init(text: "run")))
            let events = try channel.take().filter { $0.sequence != nil }.map(\.message.kind)
            #expect(
                events == [.userMessage, .sessionActivityChanged, .sessionActivityChanged, .sessionTitleChanged])
            let onControl = try control.take()
            #expect(
                onControl.map(\.message.kind) == [
                    .sessionActivityChanged, .sessionActivityChanged, .sessionAlert, .sessionTitleChanged,
                ])
            #expect(onControl.allSatisfy { $0.sequence == nil && $0.sessionID == id })
            #expect(
                try idle.kinds() == [.sessionActivityChanged, .sessionActivityChanged, .sessionAlert])
            #expect(try web.kinds().last == .sessionTitleChanged)
        }
    }

    @Test("the list: stock clients see sessions in which something was said, phones the title as summary")
    func lists() throws {
        try SessionsBench.with("lists", agent: ScriptedAgent([])) { bench in
            let (control, channel, id) = try open(bench)
            let phone = try bench.client(.stock, kind: .mobile, device: 2)
            try phone.send(.listSessions)
            #expect(
                phone.takeTexts() == [#"{"type":"session_list","sessions":[]}"#, #"{"type":"group_list","groups":[]}"#])
            try channel.send(.prompt(.init(text: "Say it")))
            try control.send(.renameSession(.init(sessionID: id, title: "My words")))
            #expect(phone.takeTexts().last?.contains(#""summary":"My words""#) == true)
            try control.send(.listSessions, ref: "l")
            let lists = try control.take().filter { $0.ref == "l" }
            let list = try #require(lists.sessionList)
            #expect(list.map(\.title) == ["My words"])
            #expect(list.map(\.summary) == [nil])
            #expect(list.map(\.clientCount) == [1])
            #expect(list.map(\.agent) == ["scripted"])
        }
    }

    @Test("a list that would be too large for a frame ends with the sessions used last")
    func largeList() throws {
        let files = (0..<200).map { "\($0)/" + String(repeating: "x", count: 200) }
        let script = [ScriptedAgent.Step.emit(.changes(ChangeStats(added: 1, removed: 0, files: files)))]
        let sessions = 80
        try SessionsBench.with("large-list", agent: ScriptedAgent(Array(repeating: script, count: sessions))) { bench in
            let control = try bench.client(.control)
            var newest: SessionID?
            for _ in 0..<sessions {
                let channel = try bench.client(.session)
                try channel.send(.newSession(.init(cwd: "/tmp")))
                try channel.send(.prompt(.init(text: "change")))
                newest = try channel.take().ready?.sessionID
                try channel.leave()
            }
            _ = try control.take()
            try control.send(.listSessions)
            let list = try #require(try control.take().sessionList)
            #expect((40..<60).contains(list.count), "\(list.count) sessions of 40 KB each")
            #expect(list.first?.sessionID == newest)
        }
    }

    @Test("groups and projects; a deleted group leaves its sessions without one")
    func groups() throws {
        try SessionsBench.with("groups", agent: ScriptedAgent([])) { bench in
            let (control, _, id) = try open(bench)
            _ = try control.take()
            try control.send(.createGroup(.init(name: "Work", color: "blue")))
            let group = try #require(try control.take().groups?.first?.id)
            try control.send(.assignSessionGroup(.init(sessionID: id, groupID: group)))
            #expect(try control.kinds() == [.sessionMetaChanged, .receipt, .groupsChanged])
            try control.send(.assignSessionGroup(.init(sessionID: id, groupID: "grp_none")))
            #expect(try control.take().receipts.map(\.code) == [.badInput])
            bench.kill(seed: 5)
            try bench.restart()
            let after = try bench.client(.control)
            try after.send(.deleteGroup(.init(groupID: group)))
            let frames = try after.take()
            #expect(frames.map(\.message.kind) == [.receipt, .groupsChanged, .sessionMetaChanged])
            try after.send(.listProjects)
            let projects = try #require(try after.take().projects)
            #expect(projects.map(\.sessionCount) == [1])
            let path = try #require(projects.first?.path)
            try after.send(.pinProject(.init(path: path, pinned: true)))
            #expect(try after.take().projects?.map(\.pinned) == [true])
        }
    }

    @Test("two devices that change a group within one sync lose no change, and a deleted group stays deleted")
    func groupsAtOnce() throws {
        try SessionsBench.with("groups-at-once", agent: ScriptedAgent([]), commitTime: .milliseconds(20)) { bench in
            let (laptop, phone) = (try bench.client(.control), try bench.client(.control, device: 2))
            try laptop.send(.createGroup(.init(name: "Work", color: "blue")))
            let id = try #require(try laptop.take().groups?.first?.id)
            laptop.post(.updateGroup(.init(groupID: id, name: "Home")))
            phone.post(.updateGroup(.init(groupID: id, color: "red")))
            try bench.world.run(for: .seconds(1))
            let group = try #require(try laptop.take().groups?.first)
            #expect(group.name == "Home" && group.color == "red")
            laptop.post(.deleteGroup(.init(groupID: id)))
            phone.post(.updateGroup(.init(groupID: id, name: "Ghost")))
            try bench.world.run(for: .seconds(1))
            #expect(try laptop.take().groups == [])
            let store = bench.store
            #expect(try bench.run { try await store.groups().count } == 0)
        }
    }

    @Test("two devices that make the last group at once make one")
    func lastGroup() throws {
        try SessionsBench.with("last-group", agent: ScriptedAgent([]), commitTime: .milliseconds(20)) { bench in
            let (laptop, phone) = (try bench.client(.control), try bench.client(.control, device: 2))
            for number in 1..<256 { try laptop.send(.createGroup(.init(name: "\(number)", color: "blue"))) }
            for client in [laptop, phone] { client.post(.createGroup(.init(name: "last", color: "blue"))) }
            try bench.world.run(for: .seconds(1))
            #expect(try laptop.take().groups?.count == 256)
            #expect(try phone.take().receipts.map(\.code) == [.badInput])
        }
    }

    @Test("deleting ends what runs, erases, ends the session's channels and sends new lists")
    func deleting() throws {
        let agent = ScriptedAgent([[.hang]])
        try SessionsBench.with("delete", agent: agent) { bench in
            let (control, channel, id) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            _ = try control.take()
            try control.send(.deleteSession(.init(sessionID: id)))
            #expect(channel.isOver)
            #expect(agent.deeds.contains(.forgot(id)))
            // Who hears the session hears its end there, before the channel ends.
            let end = try channel.take()
            #expect(end.receipts.map(\.result) == [nil, nil, .interrupted])
            #expect(end.receipts.last?.message == "the session was deleted")
            #expect(
                end.contains { $0.message == .errorEvent(.init(message: "interrupted: the session is being deleted")) })
            let frames = try control.take()
            #expect(frames.receipts.map(\.state) == [.done])
            #expect(frames.sessionList?.isEmpty == true)
            let again = try bench.client(.session)
            try again.send(.attachSession(.init(sessionID: id)))
            #expect(try again.take().errors.map(\.code) == [.unknownSession])
            bench.kill(seed: 6)
            try bench.restart()
            let after = try bench.client(.control)
            try after.send(.deleteSession(.init(sessionID: id)))
            #expect(try after.take().receipts.map(\.code) == [.unknownSession])
        }
    }

    @Test(
        "deleting ends every prompt that was acknowledged, and its device hears of it on the channel that it has there")
    func deletingEndsPromptsOnTheirChannel() throws {
        try SessionsBench.with("delete-attached", agent: ScriptedAgent([[.hang]])) { bench in
            let (control, channel, id) = try open(bench)
            for number in 1...3 { try channel.send(.prompt(.init(text: "\(number)"))) }
            _ = try channel.take()
            try control.send(.deleteSession(.init(sessionID: id)))
            let receipts = try channel.take().receipts
            #expect(receipts.map(\.result) == [.interrupted, .cancelled, .cancelled])
            #expect(receipts.map(\.message) == [String?](repeating: "the session was deleted", count: 3))
            #expect(channel.isOver)
        }
    }

    @Test("deleting ends every prompt that was acknowledged, and a device that hears no session hears of it on control")
    func deletingEndsPrompts() throws {
        try SessionsBench.with("delete-queue", agent: ScriptedAgent([[.hang]])) { bench in
            let (control, channel, id) = try open(bench)
            let prompts = try (1...3).map { number in
                try #require(try channel.send(.prompt(.init(text: "\(number)"))))
            }
            try channel.leave()
            _ = try control.take()
            let delete = try control.send(.deleteSession(.init(sessionID: id)))
            let receipts = try control.take().receipts.filter { $0.operation != delete }
            #expect(receipts.map(\.operation) == prompts)
            #expect(receipts.map(\.result) == [.interrupted, .cancelled, .cancelled])
            try control.send(.receiptQuery(.init(operations: prompts, settle: false)))
            #expect(try control.take().receipts.map(\.result) == [.interrupted, .cancelled, .cancelled])
        }
    }

    @Test("the power fails at any step of deleting: every prompt has an end afterwards", arguments: 0..<60)
    func powerCutInDeleting(steps: Int) throws {
        let agent = ScriptedAgent([[.hang]])
        try SessionsBench.with("delete-cut", seed: UInt64(steps), agent: agent) { bench in
            let (control, channel, id) = try open(bench)
            let prompts = try (1...3).map { number in
                try #require(try channel.send(.prompt(.init(text: "\(number)"))))
            }
            control.post(.deleteSession(.init(sessionID: id)))
            bench.world.run(steps: steps)
            bench.kill(seed: UInt64(steps))
            try bench.restart()
            try bench.world.run(for: .seconds(10))
            let after = try bench.client(.control)
            try after.send(.receiptQuery(.init(operations: prompts, settle: false)))
            let receipts = try after.take().receipts
            #expect(receipts.map(\.state) == [.done, .done, .done])
            #expect(receipts.first?.result == .interrupted)
        }
    }

    @Test("an agent that takes its time to forget a deleted session holds nothing up")
    func slowForgetting() throws {
        let gate = ScriptGate()
        try SessionsBench.with("forget", agent: ScriptedAgent([], forgetGate: gate)) { bench in
            let (control, _, id) = try open(bench)
            control.post(.deleteSession(.init(sessionID: id)))
            try bench.settle()
            #expect(try control.kinds() == [.receipt, .sessionList])
            try control.send(.listAgents)
            #expect(try control.kinds() == [.agentList])
            #expect(bench.agent.deeds == [.forgot(id)])
            gate.open()
        }
    }

    @Test("a list shows what is stored, not what is decided")
    func listsShowWhatIsStored() throws {
        try SessionsBench.with("stored-list", agent: ScriptedAgent([[.hang]]), commitTime: .seconds(1)) { bench in
            let control = try bench.client(.control)
            let channel = try bench.client(.session)
            channel.post(.newSession(.init(cwd: "/tmp")))
            try bench.world.run(for: .seconds(2))
            channel.post(.setPermissionMode(.init(mode: "permissive")))
            try bench.settle()
            // Decided while the mode is being stored.
            channel.post(.prompt(.init(text: "run")))
            try bench.world.run(for: .milliseconds(1_200))
            try control.send(.listSessions)
            let before = try #require(try control.take().sessionList?.first)
            #expect(before.headSequence == .first && before.turnID == nil && before.state == .active)
            try bench.world.run(for: .seconds(2))
            try control.send(.listSessions)
            let after = try #require(try control.take().sessionList?.first)
            #expect(after.headSequence == SequenceNumber(3) && after.turnID != nil && after.state == .running)
        }
    }

    @Test(
        "an acknowledged prompt ends as interrupted when its record, its session's or the session's row is lost",
        arguments: 0..<3)
    func lostPrompts(_ what: Int) throws {
        try SessionsBench.with("lost-\(what)", agent: ScriptedAgent([[.hang]])) { bench in
            let (_, channel, id) = try open(bench)
            let operations = try (0..<2).map { try channel.send(.prompt(.init(text: "\($0)"))) }.compactMap(\.self)
            #expect(try channel.take().receipts.map(\.state) == [.stored, .started, .stored])
            let losses: [StoreWrite] = [
                .removeWork(id, number: 2), .putSession(SessionRow(id: id, body: [1], isBusy: true)),
                .deleteSession(id),
            ]
            let store = bench.store
            try bench.run { try await store.commit([losses[what]]) }
            bench.kill(seed: 3)
            try bench.restart()
            try bench.settle()
            let control = try bench.client(.control)
            try control.send(.receiptQuery(.init(operations: operations, settle: false)))
            let receipts = try control.take().receipts
            #expect(receipts.map(\.state) == [.done, .done])
            #expect(receipts.map(\.result) == [.interrupted, .interrupted])
            #expect(bench.agent.deeds.count { if case .began = $0 { true } else { false } } == 1)
        }
    }

    @Test("a session whose record is damaged is listed as such and can be deleted, and nothing else")
    func unreadable() throws {
        try SessionsBench.with("unreadable", agent: ScriptedAgent([])) { bench in
            let (_, _, id) = try open(bench)
            let store = bench.store
            try bench.run { try await store.commit([.putSession(SessionRow(id: id, body: [1], isBusy: true))]) }
            bench.kill(seed: 3)
            try bench.restart()
            let control = try bench.client(.control)
            try control.send(.listSessions)
            let line = try #require(try control.take().sessionList?.first)
            #expect(line.sessionID == id && line.title?.contains("damaged") == true)
            let channel = try bench.client(.session)
            try channel.send(.attachSession(.init(sessionID: id)))
            #expect(try channel.take().errors.map(\.message) == [SessionFailure.unreadable.sentence])
            try control.send(.deleteSession(.init(sessionID: id)))
            let frames = try control.take()
            #expect(frames.receipts.map(\.state) == [.done] && frames.sessionList == [])
        }
    }

    @Test("after a restart a list says how far each session is, though nobody has loaded it")
    func listAfterRestart() throws {
        try SessionsBench.with("restarted-list", agent: ScriptedAgent([[.emit(.notice("one"))]])) { bench in
            let (control, channel, _) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            try control.send(.listSessions)
            let before = try #require(try control.take().sessionList?.first)
            bench.kill(seed: 3)
            try bench.restart()
            let after = try bench.client(.control)
            try after.send(.listSessions)
            let line = try #require(try after.take().sessionList?.first)
            #expect(line.state == .idle && line.headSequence == before.headSequence)
            #expect(try #require(line.headSequence) > .first)
        }
    }

    @Test("an answer that came too late hears who won each time it is repeated, also after a restart")
    func repeatedVerdict() throws {
        let agent = ScriptedAgent([[.permission(permission), .hang]])
        try SessionsBench.with("late", agent: agent) { bench in
            let (_, channel, id) = try open(bench)
            let other = try bench.client(.session, device: 2, name: "phone")
            try other.send(.attachSession(.init(sessionID: id)))
            try channel.send(.prompt(.init(text: "run")))
            let request = try #require(try channel.take().request)
            try other.send(answer(request, .deny))
            let late = answer(request, .allowOnce)
            let operation = try channel.send(late)
            let first = try #require(try channel.take().verdict)
            #expect(first.outcome == .tooLate && first.by?.name == "phone" && first.decision == "deny")
            try channel.send(late, operation: operation)
            #expect(try channel.take().verdict == first)
            bench.kill(seed: 2)
            try bench.restart()
            let again = try bench.client(.session)
            try again.send(.attachSession(.init(sessionID: id)))
            _ = try again.take()
            try again.send(late, operation: operation)
            #expect(try again.take().verdict == first)
        }
    }

    @Test("a page that was being read when /clear came is the new list's newest page, and replaces")
    func pageAndClear() throws {
        try SessionsBench.with("page-clear", agent: ScriptedAgent([]), commitTime: .milliseconds(100)) { bench in
            let channel = try bench.client(.session)
            channel.post(.newSession(.init(cwd: "/tmp")))
            try bench.world.run(for: .seconds(1))
            let id = try #require(try channel.take().ready?.sessionID)
            channel.post(.prompt(.init(text: "words")))
            try bench.world.run(for: .seconds(1))
            _ = try channel.take()
            channel.post(.loadSessionHistory(.init(sessionID: id, before: 1)))
            channel.post(.slashCommand(.init(command: "/clear")))
            try bench.world.run(for: .seconds(2))
            let messages = try channel.take().map(\.message)
            let kinds = messages.map(\.kind).filter { [.sessionCleared, .sessionHistoryPage].contains($0) }
            #expect(kinds == [.sessionCleared, .sessionHistoryPage])
            let pages = messages.compactMap { message -> DaemonMessage.SessionHistoryPage? in
                if case .sessionHistoryPage(let page) = message { page } else { nil }
            }
            #expect(pages.map(\.replaces) == [true])
            #expect(pages.map(\.messages.isEmpty) == [true])
        }
    }

    @Test("a lease is asked for on control; it is free 30 s after the holder left, by the runner's own timer")
    func lease() throws {
        try SessionsBench.with("lease", agent: ScriptedAgent([])) { bench in
            let (control, channel, id) = try open(bench)
            let phone = try bench.client(
                .session, device: 2, name: "phone", capabilities: [SessionCore.leaseCapability])
            try phone.send(.attachSession(.init(sessionID: id)))
            func holders() throws -> [String?] {
                try phone.take().compactMap { frame -> String?? in
                    if case .leaseState(let state) = frame.message { .some(state.holder?.name) } else { nil }
                }
            }
            #expect(try holders() == [nil])
            func take(_ target: String) -> ClientMessage {
                .lease(.init(kind: .input, target: target, act: .takeIfFree))
            }
            try control.send(take(id.text))
            #expect(try control.take().receipts.last?.state == .done)
            #expect(try holders() == ["laptop"])
            try control.send(take("sess_none"))
            #expect(try control.take().receipts.last?.code == .unknownSession)
            try channel.leave()
            try bench.world.run(for: .seconds(29))
            #expect(try holders().isEmpty)
            try bench.world.run(for: .seconds(2))
            #expect(try holders() == [nil])
        }
    }

    @Test("turns run with nobody attached, and a question raised then waits")
    func nobodyAttached() throws {
        let agent = ScriptedAgent([
            [.run { host throws(AgentHostError) in _ = try await host.takeGuidance() }, .permission(permission)]
        ])
        try SessionsBench.with("nobody", agent: agent) { bench in
            let (control, channel, id) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            try channel.leave()
            try bench.world.run(for: .seconds(3_000))
            let again = try bench.client(.session)
            try again.send(.attachSession(.init(sessionID: id)))
            let request = try #require(try again.take().request)
            try again.send(answer(request, .allowOnce))
            #expect(try again.take().last?.message.kind == .sessionTitleChanged)
            _ = control
        }
    }

    @Test("an idle session is put away after five minutes and is there again when somebody comes")
    func putAway() throws {
        try SessionsBench.with("away", agent: ScriptedAgent([])) { bench in
            let (control, channel, id) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            try channel.leave()
            try bench.world.run(for: .seconds(600))
            let registry = bench.registry
            #expect(try bench.run { await registry.slots.isEmpty })
            try control.send(.listSessions)
            let again = try bench.client(.session)
            try again.send(.attachSession(.init(sessionID: id)))
            #expect(try again.take().ready?.resume == .snapshot)
        }
    }

    @Test("an orderly end interrupts the turn, keeps what waits, and the next start goes on with it")
    func shutDown() throws {
        let agent = ScriptedAgent([[.hang], []])
        try SessionsBench.with("end", agent: agent) { bench in
            let (_, channel, _) = try open(bench)
            try channel.send(.prompt(.init(text: "one")))
            try channel.send(.prompt(.init(text: "two")))
            let registry = bench.registry
            try bench.run { await registry.shutDown() }
            try bench.settle()
            #expect(try channel.take().receipts.last?.result == .interrupted)
            let third = try channel.send(.prompt(.init(text: "three")))
            let refused = try channel.take().errors
            #expect(refused.map(\.code) == [.daemonRestarting])
            #expect(refused.map(\.operation) == [third])
            bench.kill(seed: 7)
            try bench.restart()
            try bench.settle()
            let begun = agent.deeds.compactMap { if case .began(_, let text) = $0 { text } else { nil } }
            #expect(begun == ["one", "two"])
        }
    }

    @Test("a command that the end of the daemon breaks off is done by the next one, and nothing starts in between")
    func shutDownInCommand() throws {
        let agent = ScriptedAgent([], commandGate: ScriptGate())
        try SessionsBench.with("end-command", agent: agent) { bench in
            let (_, channel, id) = try open(bench)
            let compact = try #require(try channel.send(.slashCommand(.init(command: "/compact"))))
            try channel.send(.prompt(.init(text: "next")))
            let registry = bench.registry
            try bench.run { await registry.shutDown() }
            try bench.settle()
            #expect(agent.deeds == [.compacted(id)])
            #expect(try channel.take().receipts.map(\.state) == [.stored, .stored])
            bench.kill(seed: 7)
            let second = ScriptedAgent([])
            try bench.restart(agent: second)
            try bench.settle()
            #expect(second.deeds.first == .compacted(id))
            #expect(second.deeds.count == 3)
            let control = try bench.client(.control)
            try control.send(.receiptQuery(.init(operations: [compact], settle: false)))
            #expect(try control.take().receipts.map(\.state) == [.done])
        }
    }

    @Test("a session that is deleted while it is being loaded is gone, also after a restart")
    func deleteWhileLoading() throws {
        try SessionsBench.with("delete-loading", agent: ScriptedAgent([])) { bench in
            let (_, _, id) = try open(bench)
            bench.kill(seed: 1)
            try bench.restart()
            let control = try bench.client(.control)
            let channel = try bench.client(.session)
            channel.post(.attachSession(.init(sessionID: id)))
            control.post(.deleteSession(.init(sessionID: id)))
            try bench.settle()
            #expect(try control.take().sessionList?.isEmpty == true)
            channel.post(.prompt(.init(text: "ghost")))
            try bench.settle()
            let frames = try channel.take()
            #expect(channel.isOver || frames.errors.count + frames.receipts.count(where: { $0.state == .refused }) > 0)
            let slots = try bench.run { [registry = bench.registry] in await registry.slots.count }
            #expect(slots == 0)
            bench.kill(seed: 2)
            try bench.restart()
            let later = try bench.client(.control)
            try later.send(.listSessions)
            #expect(try later.take().sessionList?.isEmpty == true)
        }
    }

    @Test("an agent that does not stop is waited for five seconds, and no longer")
    func stubbornAgent() throws {
        let gate = ScriptGate()
        let deaf: [ScriptedAgent.Step] = [.run { _ in await gate.passDeaf() }]
        try SessionsBench.with("deaf", agent: ScriptedAgent([deaf])) { bench in
            let (_, channel, _) = try open(bench)
            try channel.send(.prompt(.init(text: "run")))
            let before = bench.world.now
            let registry = bench.registry
            try bench.run { await registry.shutDown() }
            let waited = before.duration(to: bench.world.now)
            #expect(waited >= .seconds(5) && waited < .seconds(6))
            gate.open()
        }
    }
}
