import MewBase
import MewTestSupport
import Testing

@testable import MewAgent

// Every phase of a command's run against everything that can happen to it. A changed line is a changed transition: look at it, then
// change the table.

@Suite("The phases of a command's run")
struct ShellPhaseTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let due = start.advanced(by: .seconds(2))

    private static let phases: [(name: String, phase: ShellPhase)] = [
        ("idle", .idle), ("held", .held), ("running", .running), ("lingering", .lingering(until: due)),
        ("ending", .ending(until: due)), ("killed", .killed(until: due)), ("over", .over),
    ]

    private static let inputs: [(name: String, step: @Sendable (ShellPhase) -> ShellPhase.Step)] = [
        ("release", { $0.released }),
        ("terminate", { $0.terminated }),
        ("the shell ends", { $0.leaderExited }),
        ("nothing has ended", { $0.settled(hasExited: false, hasOutput: true, isAnybodyLeft: true) }),
        ("the output has ended", { $0.settled(hasExited: false, hasOutput: false, isAnybodyLeft: true) }),
        ("the shell has ended", { $0.settled(hasExited: true, hasOutput: true, isAnybodyLeft: true) }),
        ("all have ended, the output is held", { $0.settled(hasExited: true, hasOutput: true, isAnybodyLeft: false) }),
        ("all has ended", { $0.settled(hasExited: true, hasOutput: false, isAnybodyLeft: false) }),
        ("1.999 s", { $0.due(now: start.advanced(by: .milliseconds(1_999))) }),
        ("2 s", { $0.due(now: due) }),
    ]

    @Test("every phase against every event")
    func table() {
        let lines = Self.phases.flatMap { name, phase in
            Self.inputs.map { input, step in
                let step = step(phase)
                return "\(name), \(input): \(step == .nothing ? "–" : "\(step)")"
            }
        }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        idle, release: –
        idle, terminate: –
        idle, the shell ends: –
        idle, nothing has ended: –
        idle, the output has ended: –
        idle, the shell has ended: –
        idle, all have ended, the output is held: –
        idle, all has ended: –
        idle, 1.999 s: –
        idle, 2 s: –
        held, release: open
        held, terminate: giveUpGate
        held, the shell ends: linger
        held, nothing has ended: –
        held, the output has ended: –
        held, the shell has ended: –
        held, all have ended, the output is held: –
        held, all has ended: –
        held, 1.999 s: –
        held, 2 s: –
        running, release: –
        running, terminate: endSession
        running, the shell ends: linger
        running, nothing has ended: –
        running, the output has ended: –
        running, the shell has ended: –
        running, all have ended, the output is held: –
        running, all has ended: –
        running, 1.999 s: –
        running, 2 s: –
        lingering, release: –
        lingering, terminate: endSession
        lingering, the shell ends: –
        lingering, nothing has ended: –
        lingering, the output has ended: endLeftovers
        lingering, the shell has ended: –
        lingering, all have ended, the output is held: –
        lingering, all has ended: endLeftovers
        lingering, 1.999 s: –
        lingering, 2 s: endLeftovers
        ending, release: –
        ending, terminate: –
        ending, the shell ends: –
        ending, nothing has ended: –
        ending, the output has ended: –
        ending, the shell has ended: –
        ending, all have ended, the output is held: finish
        ending, all has ended: finish
        ending, 1.999 s: –
        ending, 2 s: kill
        killed, release: –
        killed, terminate: –
        killed, the shell ends: –
        killed, nothing has ended: –
        killed, the output has ended: –
        killed, the shell has ended: finish
        killed, all have ended, the output is held: finish
        killed, all has ended: finish
        killed, 1.999 s: –
        killed, 2 s: finish
        over, release: –
        over, terminate: –
        over, the shell ends: –
        over, nothing has ended: –
        over, the output has ended: –
        over, the shell has ended: –
        over, all have ended, the output is held: –
        over, all has ended: –
        over, 1.999 s: –
        over, 2 s: –
        """

    @Test("processes are looked for only while their end is waited for")
    func lazy() {
        var looks = 0
        func look() -> Bool {
            looks += 1
            return true
        }
        for (_, phase) in Self.phases {
            for hasExited in [false, true] {
                _ = phase.settled(hasExited: hasExited, hasOutput: true, isAnybodyLeft: look())
            }
        }
        #expect(looks == 1)
    }
}
