import MewBase
import MewIdentity
import MewSession
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

// What becomes of an input while the disk takes writes, while it takes none and when nothing goes on any more, and what a failed
// commit makes of a session. A changed line is a changed transition: look at it, then change the table.

@Suite("the health of a session's runner")
struct RunnerHealthTests {
    private static let device = CoreBench.node(1)
    private static let client = ClientID(1)
    private static let turn = TurnID(ULID(high: 1, low: 1))

    private static func request(_ message: ClientMessage) -> SessionInput {
        let by = By(node: device, name: "laptop", clientKind: .cli)
        return .request(
            ClientRequest(message, client: client, link: .native, by: by, operation: nil, content: [], ref: nil))
    }

    private static let inputs: [(name: String, input: SessionInput)] = [
        (
            "attach",
            .attach(
                AttachedClient(id: client, link: .native, by: By(node: device, name: "laptop", clientKind: .cli)),
                after: nil, epoch: nil, isNew: false)
        ),
        ("resume", .resume(client, after: .zero)),
        ("drained", .drained(client)),
        ("detach", .detach(client)),
        ("prompt", request(.prompt(.init(text: "x")))),
        ("agent", .agent(AgentCallID(1), .takeGuidance, turn: turn)),
        ("turnEnded", .turnEnded(turn, .completed)),
        ("commandEnded", .commandEnded(isDone: true)),
        ("recovered", .recovered(isAgentGone: true)),
        ("shutDown", .shutDown),
        ("deleting", .deleting),
        ("erased", .erased),
        ("revoked", .revoked(device)),
        ("lowered", .lowered(device, .observe)),
        ("deadline", .deadline),
    ]

    @Test("every health against every input: what has to be stored, and what need not be")
    func fates() {
        let lines = RunnerHealth.allCases.flatMap { health in
            Self.inputs.map { name, input in
                let fates = [false, true].map { health.fate(of: input, isDone: $0, stopsTurn: false) }
                return "\(health), \(name): \(fates[0])\(fates[1] == fates[0] ? "" : " or \(fates[1])")"
            }
        }
        #expect(changes(in: lines, since: Self.fateSnapshot) == [])
    }

    private static let fateSnapshot = """
        saving, attach: decided
        saving, resume: decided
        saving, drained: decided
        saving, detach: decided
        saving, prompt: decided
        saving, agent: decided
        saving, turnEnded: decided
        saving, commandEnded: decided
        saving, recovered: decided
        saving, shutDown: decided
        saving, deleting: decided
        saving, erased: decided
        saving, revoked: decided
        saving, lowered: decided
        saving, deadline: decided
        notSaving, attach: held or done
        notSaving, resume: held or done
        notSaving, drained: held or done
        notSaving, detach: held or done
        notSaving, prompt: notSaved or done
        notSaving, agent: held or done
        notSaving, turnEnded: held or done
        notSaving, commandEnded: held or done
        notSaving, recovered: held or done
        notSaving, shutDown: endsUnrecorded
        notSaving, deleting: endsUnrecorded
        notSaving, erased: held or done
        notSaving, revoked: held or done
        notSaving, lowered: held or done
        notSaving, deadline: held or done
        inDoubt, attach: held or done
        inDoubt, resume: held or done
        inDoubt, drained: held or done
        inDoubt, detach: held or done
        inDoubt, prompt: inDoubt or done
        inDoubt, agent: held or done
        inDoubt, turnEnded: held or done
        inDoubt, commandEnded: held or done
        inDoubt, recovered: held or done
        inDoubt, shutDown: endsUnrecorded
        inDoubt, deleting: endsUnrecorded
        inDoubt, erased: held or done
        inDoubt, revoked: held or done
        inDoubt, lowered: held or done
        inDoubt, deadline: held or done
        over, attach: failed
        over, resume: dropped
        over, drained: dropped
        over, detach: dropped
        over, prompt: failed
        over, agent: gone
        over, turnEnded: dropped
        over, commandEnded: dropped
        over, recovered: dropped
        over, shutDown: dropped
        over, deleting: dropped
        over, erased: dropped
        over, revoked: dropped
        over, lowered: dropped
        over, deadline: dropped
        """

    @Test(
        "the cancel of a running turn stops its agent while nothing is saved, and is like any other request otherwise")
    func cancel() {
        let cancel = Self.request(.cancel(.init()))
        let fates = RunnerHealth.allCases.map { $0.fate(of: cancel, isDone: false, stopsTurn: true) }
        #expect(fates == [.decided, .stopsAgent, .stopsAgent, .failed])
        #expect(RunnerHealth.notSaving.fate(of: cancel, isDone: true, stopsTurn: true) == .done)
    }

    private static let failures: [(name: String, apply: @Sendable (inout RunnerHealth) -> String)] = [
        ("not saved", { "\($0.failed(.notSaved(reason: "full")))" }),
        ("in doubt", { "\($0.failed(.inDoubt(reason: "sync")))" }),
        ("closed", { "\($0.failed(.closed))" }),
        ("contradiction", { "\($0.failed(.contradiction("x")))" }),
        ("damaged", { "\($0.failed(.damaged("x")))" }),
        ("locked", { "\($0.failed(.locked))" }),
        ("newer schema", { "\($0.failed(.newerSchema(found: 2, known: 1)))" }),
        ("read only", { "\($0.failed(.readOnly(path: "/x")))" }),
        ("disk is back", { $0.diskReturned() ? "goes on" : "–" }),
        (
            "end",
            { health in
                health.end()
                return "–"
            }
        ),
    ]

    @Test("every health against every failure, the disk's return and the end")
    func transitions() {
        let lines = RunnerHealth.allCases.flatMap { health in
            Self.failures.map { name, apply in
                var next = health
                let told = apply(&next)
                return "\(health), \(name): \(told)\(next == health ? "" : " → \(next)")"
            }
        }
        #expect(changes(in: lines, since: Self.snapshot) == [])
    }

    private static let snapshot = """
        saving, not saved: goesOn → notSaving
        saving, in doubt: goesOn → inDoubt
        saving, closed: breaks → over
        saving, contradiction: breaks → over
        saving, damaged: breaks → over
        saving, locked: breaks → over
        saving, newer schema: breaks → over
        saving, read only: breaks → over
        saving, disk is back: –
        saving, end: – → over
        notSaving, not saved: goesOn
        notSaving, in doubt: goesOn → inDoubt
        notSaving, closed: breaks → over
        notSaving, contradiction: breaks → over
        notSaving, damaged: breaks → over
        notSaving, locked: breaks → over
        notSaving, newer schema: breaks → over
        notSaving, read only: breaks → over
        notSaving, disk is back: goes on → saving
        notSaving, end: – → over
        inDoubt, not saved: goesOn → notSaving
        inDoubt, in doubt: goesOn
        inDoubt, closed: breaks → over
        inDoubt, contradiction: breaks → over
        inDoubt, damaged: breaks → over
        inDoubt, locked: breaks → over
        inDoubt, newer schema: breaks → over
        inDoubt, read only: breaks → over
        inDoubt, disk is back: goes on → saving
        inDoubt, end: – → over
        over, not saved: ended
        over, in doubt: ended
        over, closed: ended
        over, contradiction: ended
        over, damaged: ended
        over, locked: ended
        over, newer schema: ended
        over, read only: ended
        over, disk is back: –
        over, end: –
        """
}
