import MewWire
import Testing

@testable import mew

@Suite("mew bench, of sessions")
struct SessionBenchTests {
    private static let id = SessionID("sess_01JZ0000000000000000000000")

    private func raw(_ message: DaemonMessage, _ sequence: UInt64?) throws -> RawFrame {
        let frame = DaemonFrame(message, sessionID: Self.id, sequence: sequence.map { SequenceNumber($0) })
        return RawFrame(try #require(frame.encoded(for: .native)))
    }

    @Test("an undecoded frame tells its type, its number and when the agent said it")
    func frames() throws {
        let notice = try raw(.errorEvent(.init(message: "@1234567890 and more")), 77)
        #expect(notice.isOf(.errorEvent) && !notice.isOf(.error))
        #expect(notice.sequence == SequenceNumber(77) && notice.stamp == 1_234_567_890)
        let caughtUp = try raw(.caughtUp(.init(sessionID: try #require(Self.id), sequence: SequenceNumber(9))), nil)
        #expect(caughtUp.isOf(.caughtUp) && caughtUp.sequence == SequenceNumber(9) && caughtUp.stamp == nil)
    }

    @Test("another number at the end of a frame is no number of an event")
    func otherNumbers() {
        #expect(RawFrame(Array(#"{"type":"receipt","at":1700000000000}"#.utf8)).sequence == nil)
        #expect(RawFrame(Array(#"{"type":"x","seq":}"#.utf8)).sequence == nil)
        #expect(RawFrame([]).sequence == nil)
    }
}
