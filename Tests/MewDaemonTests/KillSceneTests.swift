import MewSession
import MewWire
import Testing

@testable import MewDaemon

/// `kill -9` of the real daemon in scenes that are no turn of one device: its start and recovery, queues, cancels, settings,
/// erasures, readers, several devices.
///
/// The laws: no command runs twice; every prompt that was acknowledged has one end, told alike whenever it is told; what anybody
/// saw is in the journal under its number, which has no hole, and all who come anew see the same; nobody hears an event twice or misses
/// one without being told; the epoch is another one after the restart, and the same from then on; no session is made twice or comes
/// back when it was deleted; nothing that an agent started lives on.
@Suite("The daemon is killed in a scene", .serialized, .timeLimit(.minutes(5)))
struct KillSceneTests {
    @Test("and nothing runs twice, everything has one end, everybody sees the same", arguments: KillScene.all)
    func killed(in scene: KillScene) async throws {
        let stage = try await KillStage()
        do {
            try await play(scene, on: stage)
        } catch {
            await stage.kill()
            throw error
        }
    }

    private func play(_ scene: KillScene, on stage: KillStage) async throws {
        try await scene.act(stage)
        await stage.kill()
        try await stage.comeBack()
        for device in stage.devices { judgeEnds(of: device) }
        judgeRuns(stage)
        try await judgeSessions(stage)
        #expect(await stage.terminate() == 0)
        let stored = try await judgeJournal(stage)
        #expect(DaemonProcess.survivors(stage.place.marker) == [], "a process of the session lives on")
        print("killed in '\(scene.name)': \(stored) events stored, \(stage.place.runs.count) commands ran")
    }

    @Test("there are fifty scenes and more, each with a name of its own")
    func fiftyScenes() {
        #expect(KillScene.all.count >= 50)
        #expect(Set(KillScene.all.map(\.name)).count == KillScene.all.count)
    }

    // MARK: - Laws

    /// Before and after, an end is the same; one that was acknowledged is not refused afterwards.
    private func judgeEnds(of device: KillDevice) {
        for (operation, message) in device.asked {
            let told = device.receipts[operation, default: []]
            let ends = Set(told.filter(\.isEnd).map(\.verdict))
            #expect(ends.count == 1, "\(message.kind.rawValue) has the ends \(ends.sorted())")
            guard case .prompt = message, told.contains(where: { $0.state == .stored }) else { continue }
            #expect(device.end(of: operation)?.state == .done, "an acknowledged prompt is \(ends.sorted())")
            #expect(device.end(of: operation)?.result != nil)
        }
    }

    private func judgeRuns(_ stage: KillStage) {
        let runs = stage.place.runs
        #expect(Set(runs).count == runs.count, "of \(runs), some ran twice")
        for device in stage.devices where !device.hasDenied {
            for (operation, message) in device.asked {
                guard case .prompt = message, device.end(of: operation)?.result == .completed else { continue }
                #expect(runs.contains(KillDevice.name(operation)), "a completed command did not run")
            }
        }
    }

    private func judgeSessions(_ stage: KillStage) async throws {
        let (sessions, laptop) = (try await stage.laptop.sessions(), stage.laptop)
        guard let session = stage.session, !stage.isDeleted else {
            #expect(sessions.isEmpty)
            return
        }
        #expect(sessions == [session])
        let page = try await laptop.messages(of: session)
        let other = stage.devices[1]
        if !other.isConnected { try await other.connect() }
        #expect(try await other.messages(of: session) == page, "two devices see different messages")
        guard !stage.isCleared else { return }
        for device in stage.devices {
            let seen = Set(device.said)
            #expect(page.map(\.id).filter(seen.contains) == device.said, "messages are lost or in another order")
        }
    }

    /// - Returns: how many events there are.
    private func judgeJournal(_ stage: KillStage) async throws -> Int {
        guard let session = stage.session else { return 0 }
        let stored = try await stage.place.events(of: session)
        guard !stage.isDeleted else {
            #expect(stored.isEmpty)
            return 0
        }
        guard let first = stored.keys.min(), let last = stored.keys.max() else {
            #expect(stage.devices.flatMap(\.events.keys) == [], "all events are gone")
            return 0
        }
        #expect(UInt64(stored.count) == last.rawValue - first.rawValue + 1, "the journal has a hole")
        // What is so old is not kept.
        #expect(first == .first || stored.count >= Self.keptEvents)
        for device in stage.devices {
            let others = device.events.filter { $0.key >= first && stored[$0.key] != $0.value }.keys.sorted()
            #expect(others.prefix(5) == [], "\(others.count) events are other ones after the restart")
        }
        for (turn, count) in turns(stored) {
            let isWhole = count.ended == 1 && (count.begun == 1 || count.begun == 0 && first != .first)
            #expect(isWhole, "turn \(turn) began \(count.begun)×, ended \(count.ended)×")
        }
        return stored.count
    }

    /// At least (spec/native-wire.md §2, `after_seq`).
    private static let keptEvents = 10_000

    private func turns(_ stored: [SequenceNumber: String]) -> [TurnID: (begun: Int, ended: Int)] {
        var turns: [TurnID: (begun: Int, ended: Int)] = [:]
        // Decoding all of a long journal would take seconds.
        for text in stored.values where text.contains(#""session_activity_changed""#) {
            guard case .decoded(let frame) = DaemonFrame.decode(Array(text.utf8), from: .native),
                case .sessionActivityChanged(let change) = frame.message, let turn = change.turnID
            else { continue }
            let count = turns[turn, default: (0, 0)]
            turns[turn] = change.activity == .running ? (count.begun + 1, count.ended) : (count.begun, count.ended + 1)
        }
        return turns
    }
}
