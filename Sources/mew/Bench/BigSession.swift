import MewBase
import MewDaemon
import MewIdentity
import MewLoop
import MewNode
import MewSession
import MewStore
import MewWire

/// A session as months of work leave it: the real session core plays turn after turn, and the real store takes what it writes, many
/// turns in one commit.
///
/// Each turn is ten events: the prompt, the turn's beginning, a text that starts, comes in four pieces and ends, the turn's end and
/// what it cost.
struct BigSession: Sendable {
    static let eventsPerTurn = 10
    private static let piecesPerTurn = 4
    /// Of all writes in one commit.
    private static let groupEvents = 2_000

    /// At least.
    let events: Int
    /// Of the texts in it.
    let bytes: Int

    /// Adds it to the store of a state directory whose daemon does not run.
    func build(in directory: StateDirectory) async throws(CommandFailure) -> (session: SessionID, events: UInt64) {
        let lock: FileLock
        let loop: BlockingLoop
        do throws(StartFailure) { lock = try directory.lockListener() } catch { throw CommandFailure(error) }
        do throws(SystemError) { loop = try BlockingLoop(name: "mew-store") } catch {
            throw CommandFailure(.internal, "cannot start a thread: \(error)")
        }
        defer { loop.stop() }
        do throws(StoreError) {
            let store = try await SQLiteStore.open(path: directory.path(StateDirectory.Name.database), on: loop)
            var play = BigSessionPlay(
                textBytes: max(1, bytes * Self.eventsPerTurn / events), pieces: Self.piecesPerTurn)
            try await store.commit([play.core.created])
            while play.head < UInt64(events) {
                var writes: [StoreWrite] = []
                let end = min(play.head + UInt64(Self.groupEvents), UInt64(events))
                while play.head < end { writes += play.turn() }
                try await store.commit(writes)
            }
            await store.close()
            withExtendedLifetime(lock) {}
            return (play.core.id, play.head)
        } catch {
            throw CommandFailure(.internal, "the session cannot be stored: \(error)")
        }
    }
}

/// The turns of a big session, one after the other, without a daemon.
private struct BigSessionPlay {
    var core: SessionCore
    private(set) var head: UInt64 = 0
    private let ids = BenchIDs()
    private let piece: String
    private let pieces: Int
    private let person = By(
        node: SecretKey.generate(entropy: SystemEntropy()).node, name: "bench", clientKind: .cli)
    private var calls: UInt64 = 0

    init(textBytes: Int, pieces: Int) {
        self.pieces = pieces
        let line = "The \"tests\" of the parser pass; next comes the writer, line by line.\n"
        let count = textBytes / pieces
        piece = String((String(repeating: line, count: count / line.utf8.count + 1)).prefix(count))
        let record = SessionRecord(
            createdAt: Self.wall, cwd: nil, agent: "shell", epoch: Epoch(ids.next()), history: HistoryID(ids.next()))
        core = SessionCore(
            creating: SessionID(ids.next()), record, offer: AgentOffer(models: [], personas: []))
    }

    private static var wall: WallTime {
        WallTime(milliseconds: Int64(clamping: SystemWallClock().millisecondsSinceEpoch))
    }

    /// One turn, and what has to be written for it.
    mutating func turn() -> [StoreWrite] {
        let prompt = ClientRequest(
            .prompt(.init(text: "What is left to do?")), client: ClientID(1), link: .native, by: person,
            operation: nil)
        var writes = play(.request(prompt))
        guard let turn = core.record.turn?.id, let session = core.id.ulid else { return writes }
        let part = Part(
            id: PartID(ids.next()), messageID: MessageID(ids.next()), session: session,
            content: .text(.init(text: "")))
        writes += tell(.partStart(part), turn)
        for _ in 0..<pieces { writes += tell(.partDelta(.init(partID: part.id, delta: piece)), turn) }
        writes += tell(.messageEnd(.init(finish: .stop, usage: Tokens(input: 1_000, output: 500))), turn)
        return writes + play(.turnEnded(turn, .completed))
    }

    private mutating func tell(_ event: ProviderEvent, _ turn: TurnID) -> [StoreWrite] {
        calls += 1
        return play(.agent(AgentCallID(calls), .emit(.provider(event)), turn: turn))
    }

    private mutating func play(_ input: SessionInput) -> [StoreWrite] {
        let step = core.handle(input, at: Moment(now: .zero, wall: Self.wall, ids: ids))
        for case .appendEvent(_, let event) in step.writes { head = event.sequence.rawValue }
        return step.writes
    }
}
