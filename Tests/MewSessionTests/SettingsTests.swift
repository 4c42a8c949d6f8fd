import MewBase
import MewSession
import MewTestSupport
import MewWire
import Testing

@Suite("models, modes, personas and names are the session's, not a client's")
struct SettingsTests {
    private let offer = AgentOffer(
        models: [
            ModelInfo(
                id: "p/big", provider: "p", model: "big", thinkingVariants: [ThinkingVariant(name: "high")],
                thinkingBudget: ThinkingBudget(min: 1_024, max: 8_192, step: 1, standard: 2_048)),
            ModelInfo(id: "p/small", provider: "p", model: "small"),
        ],
        personas: [AgentPersona(name: "builder", description: "b"), AgentPersona(name: "planner", description: "p")])

    private func bench() -> (CoreBench, ClientID) {
        var bench = CoreBench(offer: offer, model: ModelName(provider: "p", model: "big"))
        let client = bench.attach(isNew: true)
        _ = bench.take(client)
        return (bench, client)
    }

    @Test("after /compact that was done, a cursor of before gets the newest page; after one that was not, it holds")
    func compactedList() throws {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "x")), from: client)
        bench.endTurn()
        for isDone in [false, true] {
            let history = bench.core.record.history
            bench.send(.slashCommand(.init(command: "/compact")), from: client)
            bench.handle(.commandEnded(isDone: isDone))
            #expect((bench.core.record.history == history) == !isDone)
            let (pages, load) = (
                bench.pages.count,
                ClientMessage.loadSessionHistory(
                    .init(sessionID: CoreBench.session, before: 1, historyID: history))
            )
            bench.send(load, from: client)
            #expect((bench.pages.count > pages) == !isDone)
        }
        let history = bench.core.record.history
        bench.crash()
        #expect(bench.core.record.history == history)
    }

    @Test("a model switch waits for the turn; the next turn has it, and a variant it lacks is switched off")
    func switchModel() {
        var (bench, client) = bench()
        bench.send(.setThinkingVariant(.init(variant: "high")), from: client)
        bench.send(.prompt(.init(text: "x")), from: client)
        bench.send(.switchModel(.init(provider: "p", model: "small")), from: client)
        #expect(bench.core.record.model?.model == "big")
        #expect(bench.takeReceipts().last?.state == .stored)
        _ = bench.take(client)
        bench.endTurn()
        #expect(bench.take(client).suffix(2) == [.modelSwitched, .thinkingVariantChanged])
        #expect(bench.takeReceipts().last?.state == .done)
        #expect(bench.core.record.thinkingVariant == nil)
        bench.send(.prompt(.init(text: "y")), from: client)
        #expect(bench.startedTurns.last?.model == ModelName(provider: "p", model: "small"))
    }

    @Test("a switch that waits is carried out after a crash")
    func switchAfterCrash() {
        var (bench, client) = bench()
        bench.send(.prompt(.init(text: "x")), from: client)
        bench.send(.switchModel(.init(provider: "p", model: "small")), from: client)
        bench.crash()
        #expect(bench.core.record.model?.model == "small")
        #expect(bench.world.sessions[CoreBench.session]?.work.isEmpty == true)
    }

    @Test("what is not offered is refused: model, variant, budget out of range, persona, mode")
    func refused() {
        var (bench, client) = bench()
        let messages: [ClientMessage] = [
            .switchModel(.init(provider: "p", model: "huge")), .setThinkingVariant(.init(variant: "low")),
            .setThinkingVariant(.init(variant: "budget:1023")), .setThinkingVariant(.init(variant: "budget:8193")),
            .switchPersona(.init(name: "poet")), .setPermissionMode(.init(mode: "yolo")),
            .renameSession(.init(sessionID: CoreBench.session, title: " ")),
            .renameSession(.init(sessionID: CoreBench.session, title: String(repeating: "x", count: 201))),
            .regenerateTitle(.init(sessionID: CoreBench.session)),
        ]
        for message in messages { bench.send(message, from: client) }
        #expect(bench.takeReceipts().map(\.code) == messages.map { _ in .badInput })
        #expect(bench.storedEvents.isEmpty)
        for variant in ["budget:1024", "budget:8192", "high", "none", ""] {
            bench.send(.setThinkingVariant(.init(variant: variant)), from: client)
            #expect(bench.takeReceipts().last?.state == .done, "\(variant)")
        }
        #expect(bench.core.record.thinkingVariant == nil)
    }

    @Test("stock refusals are errors with the stock words")
    func stockRefusals() {
        var bench = CoreBench(offer: offer)
        let client = bench.attach(.stock, kind: .web, isNew: true)
        _ = bench.take(client)
        bench.send(.switchPersona(.init(name: "poet")), from: client)
        bench.send(.setPermissionMode(.init(mode: "yolo")), from: client)
        let words = bench.takeFrames(client).compactMap { frame -> String? in
            if case .error(let error) = frame.message { error.message } else { nil }
        }
        #expect(words == ["unknown persona: poet", "unknown permission mode: yolo"])
    }

    @Test("a mode changes at once, during a turn, for everyone, and is part of every ready")
    func mode() throws {
        var (bench, client) = bench()
        bench.send(.prompt(.init(text: "x")), from: client)
        _ = bench.take(client)
        bench.send(.setPermissionMode(.init(mode: "autoplus")), from: client)
        #expect(bench.take(client) == [.permissionModeChanged])
        bench.crash()
        let again = bench.attach()
        guard case .sessionReady(let ready) = try #require(bench.takeFrames(again).first).message else {
            Issue.record("another frame was expected")
            return
        }
        #expect(ready.permissionMode == "auto_plus")
    }

    @Test("personas are listed with the one that is active")
    func personas() {
        var (bench, client) = bench()
        bench.send(.switchPersona(.init(name: "planner")), from: client)
        _ = bench.take(client)
        bench.send(.listPersonas, from: client, ref: "r")
        let frame = bench.takeFrames(client).first
        #expect(frame?.ref == "r")
        #expect(
            frame?.message
                == .personaList(
                    .init(personas: [
                        PersonaInfo(name: "builder", description: "b", active: false),
                        PersonaInfo(name: "planner", description: "p", active: true),
                    ])))
    }

    @Test("a title is one line; archiving, pinning and grouping tell the whole state")
    func namesAndPlaces() {
        var (bench, client) = bench()
        bench.send(.renameSession(.init(sessionID: CoreBench.session, title: "  two\nlines ")), from: client)
        #expect(bench.core.record.title == "two lines")
        _ = bench.takeBroadcasts()
        bench.send(.archiveSession(.init(sessionID: CoreBench.session, archived: true)), from: client)
        bench.send(.pinSession(.init(sessionID: CoreBench.session, pinned: true)), from: client)
        bench.send(.assignSessionGroup(.init(sessionID: CoreBench.session, groupID: "grp_1")), from: client)
        #expect(
            bench.takeBroadcasts().last
                == .sessionMetaChanged(
                    .init(sessionID: CoreBench.session, archived: true, pinned: true, groupID: "grp_1")))
        let info = bench.core.info
        #expect(info.archived && info.pinned && info.groupID == "grp_1" && info.title == "two lines")
    }

    @Test("what lists show of a session is short in bytes, too: a letter under a megabyte of accents is cut or refused")
    func shortInBytes() {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        let letter = "a" + String(repeating: "\u{301}", count: 400_000)
        bench.send(.renameSession(.init(sessionID: CoreBench.session, title: letter)), from: client)
        #expect(bench.takeReceipts().map(\.code) == [.badInput])
        #expect(bench.core.record.title == nil)
        for prompt in [letter, "short", String(repeating: "é", count: 61)] {
            bench.core.record.firstMessage.map { #expect($0.utf8.count <= 1_024 + 3) }
            bench.send(.prompt(.init(text: prompt)), from: client)
        }
        #expect(bench.core.record.firstMessage == "…")
    }

    @Test("the title of a first turn is the first 60 characters of its prompt; a custom one is not replaced")
    func titles() {
        var (bench, client) = bench()
        let long = String(repeating: "wort ", count: 20)
        bench.send(.prompt(.init(text: long)), from: client)
        bench.endTurn()
        #expect(bench.core.record.title == String(long.prefix(60)))
        #expect(bench.core.record.firstMessage == String(long.prefix(60)) + "…")
        bench.send(.renameSession(.init(sessionID: CoreBench.session, title: "mine")), from: client)
        bench.send(.prompt(.init(text: "again")), from: client)
        bench.endTurn()
        #expect(bench.core.record.title == "mine")
    }

    @Test("changes are summed up, files are named once, and everyone attached hears the sums")
    func changes() {
        var (bench, client) = bench()
        bench.send(.prompt(.init(text: "x")), from: client)
        bench.emit(.changes(ChangeStats(added: 3, removed: 1, files: ["a"])))
        bench.emit(.changes(ChangeStats(added: 2, removed: 0, files: ["a", "b"])))
        #expect(bench.core.record.changes == ChangeStats(added: 5, removed: 1, files: ["a", "b"]))
        #expect(
            bench.takeFrames(client).last?.message
                == .sessionStatsChanged(
                    .init(sessionID: CoreBench.session, added: 5, removed: 1, filesChanged: 2)))
    }

    @Test("a record survives its journey through the store")
    func stored() throws {
        var (bench, client) = bench()
        bench.send(.prompt(.init(text: "x")), from: client)
        bench.emit(.todos([Todo(id: 1, content: "t", status: "pending")]))
        bench.emit(.flaggedFiles([FlaggedFile(path: "a", reason: "included")]))
        bench.call(.willStart(AgentProcess(number: 1, startTicks: 2, bootID: "b")))
        let json = try JSON(parsing: bench.core.record.encoded())
        #expect(try SessionRecord.decode(json) == bench.core.record)
    }
}
