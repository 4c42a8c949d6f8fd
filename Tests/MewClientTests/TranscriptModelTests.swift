import MewBase
import MewIdentity
import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewClient

// A model daemon (the real session core) and a client behind connections that are cut, repeat what they had brought, and bring the
// streams in any order between them. Laws: what is shown is at every moment what the session was after one of its events, and
// when the client is caught up and everything has arrived, it is the daemon's transcript and the daemon's open requests.

@Suite("The shown transcript against a model daemon")
struct TranscriptModelTests {
    @Test("300 seeds: cuts, repeats, gaps, restarts, streams in any order", arguments: 0..<10)
    func seeds(block: Int) throws {
        for seed in (block * 30)..<(block * 30 + 30) {
            var run = ModelRun(seed: UInt64(seed))
            try run.go(steps: 120)
        }
    }
}

private struct ModelRun {
    private let seed: UInt64
    private var random: SplitMix64
    private var bench: CoreBench
    private var state: DaemonState
    private let id = CoreBench.session
    /// What the daemon sent on the session's channel and the client has not read.
    private var stream: [DaemonFrame] = []
    private var control: [DaemonFrame] = []
    private var delivered: [DaemonFrame] = []
    private var client: ClientID?
    /// The client was told of a gap and has not resumed: its stream is silent (`ClientQueue`).
    private var isSilent = false
    private var openPart: Part?
    private var number: UInt64 = 0
    private var journal: TranscriptReducer
    /// The conversation after each event.
    private var said: [[Message]] = []

    init(seed: UInt64) {
        self.seed = seed
        random = SplitMix64(state: seed)
        bench = CoreBench(seed: seed)
        journal = TranscriptReducer(session: CoreBench.session.ulid ?? ULID(high: 0, low: 0))
        let record = DaemonRecord(node: CoreBench.node(9), name: "desk", addedAt: WallTime(milliseconds: 0))
        state = DaemonState(record: record, app: "mew 1")
    }

    mutating func go(steps: Int) throws {
        perform(state.apply(.opening(id), at: bench.wall))
        for _ in 0..<steps {
            try step()
            collect()
        }
        try settle()
    }

    private mutating func below(_ bound: UInt64) -> UInt64 { random.next() % bound }

    // MARK: - Steps

    private mutating func step() throws {
        switch below(24) {
        case 0, 1: connect()
        case 2: cut()
        case 3: overflow()
        case 4: if let frame = delivered.randomElement(using: &random) { receive(frame) }
        case 5...8: prompt()
        case 9...13: speak()
        case 14: ask()
        case 15: answer()
        case 16: endTurn()
        case 17: restart()
        default: try deliver()
        }
    }

    private mutating func prompt() {
        // Of another device: whether ours are told right is another model's matter.
        let other = bench.attach(device: 2, name: "phone")
        bench.send(.prompt(.init(text: "p\(below(1_000))")), from: other)
        bench.detach(other)
    }

    private mutating func speak() {
        guard bench.core.record.turn != nil else { return }
        if let part = openPart, below(3) > 0 {
            return bench.emit(.provider(.partDelta(.init(partID: part.id, delta: "w\(below(100)) "))))
        }
        // Of a source of its own: the daemon's gives the number after a user message away, which names the message's text.
        number += 2
        let part = Part(
            id: PartID(ULID(high: 9 << 40, low: number)), messageID: MessageID(ULID(high: 9 << 40, low: number + 1)),
            session: ULID(high: 0, low: 0), content: .text(.init(text: "")))
        openPart = part
        bench.emit(.provider(.partStart(part)))
    }

    private mutating func ask() {
        guard bench.core.record.turn != nil else { return }
        bench.call(.permission(.init(toolName: "bash", input: [:], call: "c", sensitivity: .dangerous)))
    }

    private mutating func answer() {
        guard let entry = bench.core.desk.open.first else { return }
        let other = bench.attach(device: 2, name: "phone")
        bench.answer(entry.request, .permission(.allowOnce), from: other)
        bench.detach(other)
    }

    private mutating func endTurn() {
        guard bench.core.record.turn != nil else { return }
        openPart = nil
        bench.endTurn()
    }

    private mutating func restart() {
        collect()
        lose()
        bench.crash()
        openPart = nil
    }

    // MARK: - The connection

    private mutating func connect() {
        guard client == nil else { return }
        let link = ReadyLink(
            applicationProtocol: .native, scope: .control, capabilities: [], bootID: nil, deviceName: nil,
            clientKind: .cli)
        perform(state.apply(.linkReady(link, .direct(.loopback(port: 1))), at: bench.wall))
    }

    /// Some of what was sent still arrives before the connection is gone.
    private mutating func cut() {
        collect()
        let arriving = stream.isEmpty ? 0 : below(UInt64(stream.count) + 1)
        for _ in 0..<arriving { receive(stream.removeFirst()) }
        let gone = client
        lose()
        if let gone { bench.detach(gone) }
    }

    private mutating func lose() {
        guard client != nil else { return }
        (client, stream, control, delivered, isSilent) = (nil, [], [], [], false)
        perform(state.apply(.linkLost(ClientError(.unreachable, "cut")), at: bench.wall))
    }

    /// The client is too slow: what waits for it is dropped, and it is told.
    private mutating func overflow() {
        collect()
        guard client != nil, !isSilent else { return }
        stream = [DaemonFrame(.gap(.init(sessionID: id, afterSequence: head)))]
        isSilent = true
    }

    /// What the daemon sent since the last time, onto the wire.
    private mutating func collect() {
        guard let client else { return }
        let frames = bench.takeFrames(client)
        if !isSilent { stream += frames }
        control += bench.takeReceipts().map { DaemonFrame(.receipt($0)) }
    }

    private mutating func deliver() throws {
        collect()
        if below(3) == 0, !control.isEmpty {
            return perform(state.apply(.control(control.removeFirst()), at: bench.wall))
        }
        guard !stream.isEmpty else { return }
        let frame = stream.removeFirst()
        // A snapshot or a page has no place in the order of the events, so that only events can come twice.
        if frame.sequence != nil { delivered.append(frame) }
        receive(frame)
        try checkShown()
    }

    private mutating func receive(_ frame: DaemonFrame) {
        guard client != nil else { return }
        if case .sessionReady = frame.message { perform(state.apply(.bound(id), at: bench.wall)) }
        perform(state.apply(.session(frame, id), at: bench.wall))
    }

    private mutating func perform(_ effects: [ClientEffect]) {
        for effect in effects {
            switch effect {
            case .reattach:
                let known = state.view.attached[id]
                let canResume = known?.epoch != nil
                client = bench.attach(
                    after: canResume ? known?.lastSequence : nil, epoch: canResume ? known?.epoch : nil)
            case .resume(_, let sequence):
                guard let client else { continue }
                collect()
                isSilent = false
                bench.handle(.resume(client, after: sequence))
            case .publish, .keep, .remember, .query, .listSessions, .handOver, .pass, .succeeded, .revoked: break
            }
        }
    }

    // MARK: - Laws

    private mutating func settle() throws {
        for _ in 0..<4 {
            connect()
            collect()
            while !stream.isEmpty {
                receive(stream.removeFirst())
                try checkShown()
                collect()
            }
        }
        let session = try #require(state.view.attached[id])
        #expect(session.phase == .live, "seed \(seed)")
        #expect(session.shown.lastSequence == head, "seed \(seed)")
        let (shown, page) = (Self.plain(session.transcript.messages), newest())
        #expect(shown.count >= page.count, "seed \(seed)")
        let difference = Self.difference(shown, page)
        #expect(difference == nil, "seed \(seed): at the end another transcript is shown than the daemon has")
        #expect(session.requests.map(\.id) == bench.core.desk.open.map(\.request.id), "seed \(seed)")
    }

    private var head: SequenceNumber { bench.storedEvents.last?.sequence ?? .zero }

    /// What the daemon gives somebody who comes for the first time.
    private mutating func newest() -> [Message] {
        var fresh = AttachedSession(id: id)
        let client = bench.attach(device: 3, name: "watch")
        for frame in bench.takeFrames(client) { _ = fresh.receive(frame, isNative: true, now: bench.wall) }
        return Self.plain(fresh.transcript.messages)
    }

    /// What is shown is what the session was after the last event that is in it.
    private mutating func checkShown() throws {
        guard let shown = state.view.attached[id]?.shown, shown.epoch == bench.core.record.epoch else { return }
        let model = said(after: shown.lastSequence)
        let difference = Self.difference(Self.plain(shown.transcript.messages), model)
        #expect(difference == nil, "seed \(seed): after event \(shown.lastSequence) something else is shown")
    }

    /// The conversation after an event, by the journal alone.
    private mutating func said(after sequence: SequenceNumber) -> [Message] {
        while UInt64(said.count) <= sequence.rawValue {
            let next = SequenceNumber(UInt64(said.count))
            if let event = bench.storedEvent(next) { journal.apply(event, sequence: next, at: bench.wall) }
            said.append(Self.plain(journal.messages))
        }
        return said[Int(sequence.rawValue)]
    }

    /// The first message from the end that differs, in words; what is older than either has is no difference.
    private static func difference(_ left: [Message], _ right: [Message]) -> String? {
        for (left, right) in zip(left.reversed(), right.reversed()) where left != right {
            return "\(words(left)) instead of \(words(right))"
        }
        return nil
    }

    private static func words(_ message: Message) -> String {
        let parts = message.parts.map { part in
            if case .text(let text) = part.content { "“\(text.text.suffix(20))”" } else { "part" }
        }
        return "\(message.role) …\(message.id.description.suffix(4)) [\(parts.joined(separator: ", "))]"
    }

    /// Without what the client cannot know: the event of a message whose only part is open.
    private static func plain(_ messages: [Message]) -> [Message] {
        messages.map { message in
            var message = message
            message.sequence = nil
            return message
        }
    }
}
