import MewBase
import MewTestSupport
import MewWire
import Testing

@Suite("what a device hears is judged")
struct HeardStreamTests {
    private static let session = SessionID(ULID(high: 1, low: 1))

    private static func event(_ number: UInt64) -> DaemonFrame {
        DaemonFrame(.errorEvent(.init(message: "told")), sessionID: session, sequence: SequenceNumber(number))
    }

    private static func gap(_ number: UInt64) -> DaemonFrame {
        DaemonFrame(.gap(.init(sessionID: session, afterSequence: SequenceNumber(number))))
    }

    private static func caughtUp(_ number: UInt64) -> DaemonFrame {
        DaemonFrame(.caughtUp(.init(sessionID: session, sequence: SequenceNumber(number))))
    }

    private static func ready(_ resume: ResumeKind) -> DaemonFrame {
        DaemonFrame(.sessionReady(.init(sessionID: session, resume: resume)))
    }

    /// The faults of such a channel, attached after event 3; the device resumes at each gap.
    private static func faults(_ frames: [DaemonFrame]) -> [String] {
        var stream = HeardStream(after: SequenceNumber(3))
        return frames.compactMap { frame in
            defer { if case .gap(let gap) = frame.message { stream.resume(after: gap.afterSequence) } }
            return stream.take(frame)
        }
    }

    @Test("a replay, a gap and a snapshot are well")
    func well() {
        let replay = [Self.ready(.replay), Self.event(4), Self.caughtUp(4), Self.event(5), Self.gap(5), Self.event(6)]
        let snapshot = [Self.ready(.snapshot), Self.caughtUp(9), Self.event(10)]
        #expect(Self.faults(replay + snapshot) == [])
        #expect(Self.faults([Self.ready(.snapshot), Self.gap(0)] + snapshot) == [])
    }

    @Test(
        "a hole, a repeat, an end that is not there, a gap elsewhere and an event in a snapshot are faults",
        arguments: [
            [ready(.replay), event(5)], [ready(.replay), event(4), event(4)], [ready(.replay), caughtUp(4)],
            [ready(.replay), event(4), gap(3)], [ready(.snapshot), event(4)], [event(4)],
        ])
    func faulty(_ frames: [DaemonFrame]) {
        #expect(Self.faults(frames).count == 1)
    }

    @Test("an event and an end in a gap are faults")
    func inAGap() {
        var stream = HeardStream()
        for frame in [Self.ready(.new), Self.event(1), Self.gap(1)] { #expect(stream.take(frame) == nil) }
        #expect(stream.take(Self.event(2)) != nil)
        #expect(stream.take(Self.caughtUp(1)) != nil)
        stream.resume(after: .first)
        #expect(stream.take(Self.event(2)) == nil)
    }
}
