import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import MewSession

@Suite("messages that the running turn still writes, with many and large ones behind them")
struct UnfinishedMessageTests {
    private static let session = ULID(high: 0, low: 0)

    private func words(_ text: String, _ number: UInt64 = 3) -> Part {
        Part(
            id: PartID(ULID(high: 4, low: number)), messageID: MessageID(ULID(high: 4, low: 1)), session: Self.session,
            content: .text(.init(text: text)))
    }

    private func call(_ phase: ToolState.Phase, at: WallTime) -> Part {
        Part(
            id: PartID(ULID(high: 4, low: 2)), messageID: MessageID(ULID(high: 4, low: 1)), session: Self.session,
            content: .toolCall(
                .init(
                    toolName: "bash", callID: "c1", state: ToolState(input: [:], phase: phase, time: .init(start: at))))
        )
    }

    private let large = String(repeating: "x", count: SessionCore.maxPromptBytes)

    /// A turn that runs, and the client that prompted.
    private func running() -> (CoreBench, ClientID) {
        var bench = CoreBench()
        let client = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "run")), from: client)
        return (bench, client)
    }

    private func stored(_ position: Int, in bench: CoreBench) throws -> Message {
        let row = try #require(bench.world.sessions[CoreBench.session]?.messages[position])
        return try #require(Transcript.decode(row.body))
    }

    @Test("an answer is written to its end, however much waits behind it, also through a crash", arguments: [1, 3])
    func answer(waiting: Int) throws {
        var (bench, client) = running()
        bench.emit(.provider(.partStart(words("to "))))
        for device in 0..<waiting {
            let other = bench.attach(device: UInt8(2 + device))
            bench.send(.prompt(.init(text: large)), from: other)
        }
        bench.emit(.provider(.partDelta(.init(partID: words("").id, delta: "be"))))
        bench.emit(.provider(.partEnd(words("").id)))
        bench.send(.guide(.init(text: large)), from: client)
        // Nothing of it is open now, and it still goes on.
        bench.emit(.provider(.partStart(call(.running(output: ""), at: bench.wall))))
        bench.emit(.toolProgress("c1", chunk: "out"))
        var crashed = bench
        bench.emit(.partUpdated(call(.error("no"), at: bench.wall)))
        bench.emit(.provider(.messageEnd(.init(finish: .stop, usage: Tokens(output: 7)))))
        let message = try stored(1, in: bench)
        #expect(message.parts.map(\.content.text?.text) == ["to be", nil])
        #expect(message.parts.last?.content.toolCall?.state.phase == .error("no"))
        #expect(message.assistant?.tokens.output == 7)
        crashed.crash()
        let interrupted = try stored(1, in: crashed)
        #expect(interrupted.parts.last?.content.toolCall?.state.phase == .error(SessionCore.crashNote + "\nout"))
    }

    @Test("what nobody writes any more is forgotten, and so is what has more behind it than can wait")
    func bound() {
        let held = Transcript.heldBytes
        #expect(Transcript.excess(of: [9, 1, held], unfinished: 1) == 1)
        #expect(Transcript.excess(of: [9, 2 * held, held], unfinished: 1) == 1)
        #expect(Transcript.excess(of: [9, 1, held + 1], unfinished: 1) == 2)
        #expect(Transcript.excess(of: [9, 1, held - 1], unfinished: nil) == 2)
        #expect(Transcript.excess(of: [9, 1, 1], unfinished: 0) == 0)
        let many = [Int](repeating: 1, count: Transcript.keptMessages + 9)
        #expect(Transcript.excess(of: many, unfinished: nil) == 9)
        #expect(Transcript.excess(of: many, unfinished: 4) == 4)
        #expect(Transcript.excess(of: many, unfinished: 20) == 9)
    }

    @Test("a call that is open when the turn ends is closed, with 32 prompts and 32 pieces of guidance behind it")
    func openCall() throws {
        var (bench, client) = running()
        bench.emit(.provider(.partStart(call(.running(output: "x"), at: bench.wall))))
        for _ in 0..<SessionCore.maxWaiting { bench.send(.prompt(.init(text: "waits")), from: client) }
        for _ in 0..<SessionCore.maxGuidance { bench.send(.guide(.init(text: "hint")), from: client) }
        bench.endTurn(.cancelled)
        #expect(try stored(1, in: bench).parts[0].content.toolCall?.state.phase == .error("aborted\nx"))
    }
}
