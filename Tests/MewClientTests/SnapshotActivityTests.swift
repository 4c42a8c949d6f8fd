import MewBase
import MewWire
import Testing

@testable import MewClient

private let id = SessionID("sess_1")!  // a literal that is one

// Found by a seed of the session world: a device that was too slow showed a running turn for ever.

@Suite("What a snapshot says about the turn")
struct ClientSnapshotActivityTests {
    private func receive(_ frames: [DaemonFrame], into session: inout AttachedSession) {
        for frame in frames { _ = session.receive(frame, isNative: true, now: WallTime(milliseconds: 1)) }
    }

    @Test("one that tells of no turn ends the turn that was shown; one that tells of it goes on")
    func snapshot() {
        var session = AttachedSession(id: id)
        receive([Frames.ready(.snapshot), Frames.page(asOf: 1), Frames.caughtUp(1)], into: &session)
        receive([Frames.activity(.running)], into: &session)
        #expect(session.isRunning)
        receive([Frames.gap(after: 9), Frames.ready(.snapshot), Frames.page(asOf: 9)], into: &session)
        receive([Frames.activity(.running), Frames.caughtUp(9)], into: &session)
        #expect(session.isRunning)
        receive(
            [Frames.gap(after: 19), Frames.ready(.snapshot), Frames.page(asOf: 19), Frames.caughtUp(19)],
            into: &session)
        #expect(!session.isRunning && session.turn == nil)
    }
}
