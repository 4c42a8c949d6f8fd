import MewSession
import MewTestSupport
import MewWire
import Testing

@Suite("What a snapshot says about the turn")
struct SnapshotActivityTests {
    private static func told(_ frames: [DaemonFrame]) -> [DaemonMessage.SessionActivityChanged] {
        frames.compactMap { if case .sessionActivityChanged(let change) = $0.message { change } else { nil } }
    }

    /// A client that was too slow may have missed the end of the turn that it shows.
    @Test("in the middle of a turn it says that one runs, and which; without a turn it says nothing")
    func activity() {
        var bench = CoreBench()
        let first = bench.attach(isNew: true)
        bench.send(.prompt(.init(text: "one")), from: first)
        let turn = bench.core.record.turn?.id
        let running = Self.told(bench.takeFrames(bench.attach()))
        #expect(running.map(\.activity) == [.running] && running.map(\.turnID) == [turn] && turn != nil)
        bench.endTurn()
        #expect(Self.told(bench.takeFrames(bench.attach())).isEmpty)
    }
}
