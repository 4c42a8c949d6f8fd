import MewIdentity
import MewWire
import Testing

@testable import MewDaemon

/// `kill -9` of the real daemon at twenty points of a turn, each named for what the client had just seen. What is no turn of one
/// device is in `KillSceneTests`.
///
/// After the restart: every event that the client had received is in the journal under its number, the session has the same
/// ID and a new epoch, the command ran at most once, an unfinished turn is interrupted and not run again, and no process of it
/// is left.
/// What is not shown here: that the disk has what it says (`DurabilityTests` does that with a disk that forgets).
@Suite("The daemon is killed", .serialized, .timeLimit(.minutes(5)))
struct KillTests {
    /// Where in the turn. Each begins with a message, so that no point depends on the speed of the machine.
    enum Phase: String, CaseIterable, Sendable {
        case promptSent = "the prompt is sent, nothing has come back"
        case promptStored = "the prompt is stored"
        case promptStarted = "the agent is about to have it"
        case turnRunning = "the turn is running"
        case toolAnnounced = "the command is announced"
        case questionShown = "the question is on the screen"
        case answerSent = "the answer is sent, nothing has come back"
        case answerSettled = "the answer is settled"
        case outputStreams = "the output streams"
        case toolEnded = "the command has ended"
        case turnOver = "the turn is over"
        case promptDone = "the prompt is done"
    }

    struct Point: Sendable, CustomTestStringConvertible {
        let phase: Phase
        /// Frames that the client still reads before the kill.
        let further: Int

        var testDescription: String { further == 0 ? phase.rawValue : "\(phase.rawValue), \(further) messages later" }
    }

    private static let later: [(Phase, Int)] = [
        (.turnRunning, 1), (.turnRunning, 2), (.answerSettled, 1), (.answerSettled, 2), (.outputStreams, 1),
        (.outputStreams, 2), (.outputStreams, 3), (.toolEnded, 1),
    ]

    static let points: [Point] =
        Phase.allCases.map { Point(phase: $0, further: 0) } + later.map { Point(phase: $0.0, further: $0.1) }

    @Test("and comes back with everything that anybody saw", arguments: points)
    func killed(at point: Point) async throws {
        let place = try await KillPlace()
        let first = try await place.start()
        let before = try await place.dial { client in
            try await client.work(until: point)
            await first.kill()
        }
        let session = try #require(before.session)
        let left = try await place.events(of: session).values
        let second = try await place.start()
        let epoch = before.ready?.epoch
        let after = try await place.dial { try await $0.comeBack(to: session, epoch) }
        #expect(await second.terminate() == 0)

        let ready = try #require(after.ready)
        #expect(ready.epoch != epoch, "the journal may have lost its end")
        #expect(ready.resume == .snapshot)
        let head = try #require(ready.headSequence)
        #expect(ready.lost == KillClient.beyond.rawValue - head.rawValue)

        let stored = try await place.events(of: session)
        for (sequence, frame) in before.events.sorted(by: { $0.key < $1.key }) {
            #expect(stored[sequence] == frame, "event \(sequence) is another one after the restart")
        }
        let result = try #require(after.result)
        print(
            "killed when \(point.testDescription): \(before.events.count) events seen, \(stored.count) stored, "
                + "\(result.rawValue), ran \(place.runs.count)×")
        if let known = before.result { #expect(result == known) }
        // What was started and has not ended is interrupted; everything else runs, or has run.
        let isCutOff = Self.has(left, .running) && !Self.has(left, .idle)
        #expect(result == (isCutOff ? .interrupted : .completed))
        #expect(isCutOff || place.runs.count == 1, "the command ran \(place.runs.count) times")
        #expect(place.runs.count <= 1, "the command ran \(place.runs.count) times")
        #expect(DaemonProcess.survivors(place.marker) == [], "a process of the session lives on")
    }

    /// Whether the journal that the killed daemon left tells of it.
    private static func has(_ journal: some Collection<String>, _ activity: SessionState) -> Bool {
        journal.contains { text in
            guard case .decoded(let frame) = DaemonFrame.decode(Array(text.utf8), from: .native),
                case .sessionActivityChanged(let change) = frame.message
            else { return false }
            return change.activity == activity
        }
    }

    @Test("all twenty points are different and in the order of a turn")
    func twentyPoints() {
        #expect(Self.points.count == 20)
        #expect(Set(Self.points.map(\.testDescription)).count == 20)
    }
}
