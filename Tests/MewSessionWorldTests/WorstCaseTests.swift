import MewBase
import MewSimSession
import Testing

// The worst moments, written by hand, each at many seeds: the wires of a seed move the moment by up to a second.

@Suite("The worst moments")
struct WorstCaseTests {
    private func broken(
        _ entries: [SessionScript.Entry], seed: Int, fault: DaemonFault? = nil
    ) -> [SessionLaw.Breach] {
        SessionLaw.run(SessionScript(entries), seed: UInt64(seed), fault: fault).broken
    }

    /// The prompt lies in a stream of the old connection when the new one asks.
    private static let late: [SessionScript.Entry] = [
        .init(after: .seconds(1), .hold(.sessions, 0, .seconds(15))),
        .init(after: .milliseconds(10), .prompt(0)),
        .init(after: .milliseconds(500), .killDevice(0, startingAgainAfter: .seconds(1))),
        .init(after: .seconds(20), .prompt(1)),
    ]

    /// The device cannot ask, and sends the prompt again; the first one comes after the second.
    private static let again: [SessionScript.Entry] =
        [
            .init(after: .seconds(1), .hold(.control, 0, .seconds(10))),
            .init(after: .zero, .resend(0, .seconds(20))),
        ] + late

    @Test("a prompt that comes when its device has settled that it never came does nothing", arguments: 0..<4)
    func lateOriginal(seed: Int) {
        #expect(broken(Self.late, seed: seed) == [])
    }

    @Test("a prompt that comes when it was sent again runs once", arguments: 0..<4)
    func lateOriginalOfTwo(seed: Int) {
        #expect(broken(Self.again, seed: seed) == [])
    }

    /// Else the two tests above would prove nothing.
    @Test("a daemon that forgets what it settled is noticed", arguments: 0..<4)
    func forgetful(seed: Int) {
        let laws = Set(broken(Self.late, seed: seed, fault: .forgetsSettled).map(\.law))
        #expect(laws.contains(.result))
    }

    @Test("a daemon that takes an operation twice is noticed", arguments: 0..<4)
    func twofold(seed: Int) {
        let laws = Set(broken(Self.again, seed: seed, fault: .takesTwice).map(\.law))
        #expect(laws.contains(.once))
    }

    @Test(
        "receipts lost from the moment of storing, over the restart of both: the prompt runs once, and its end is told",
        arguments: 0..<8)
    func lostReceipts(seed: Int) {
        let entries: [SessionScript.Entry] = [
            .init(after: .seconds(1), .prompt(0)),
            // On its way, stored, or told: by the seed.
            .init(after: .milliseconds(Int64(10 * seed)), .cut(.fromDesk(0), .seconds(25))),
            .init(after: .seconds(3), .killDevice(0, startingAgainAfter: .seconds(2))),
            .init(after: .seconds(1), .killDesk(.power(seed: UInt64(seed)), startingAgainAfter: .seconds(3))),
            .init(after: .seconds(8), .prompt(1)),
        ]
        #expect(broken(entries, seed: seed) == [])
    }

    @Test("all answer one question while one of them is cut off: one outcome, which everybody learns", arguments: 0..<8)
    func answerRace(seed: Int) {
        let prompts = (0..<6).map { SessionScript.Entry(after: .milliseconds(100), .prompt($0 % 3)) }
        let races: [SessionScript.Entry] = (0..<8).flatMap { round in
            [
                SessionScript.Entry(
                    after: .milliseconds(Int64(700 + 90 * seed)), .cut(.device(round % 3), .milliseconds(1_500))),
                SessionScript.Entry(after: .milliseconds(Int64(20 * seed)), .race),
            ]
        }
        #expect(broken(prompts + races, seed: seed) == [])
    }

    @Test("the disk is full over a restart: nothing that was acknowledged is lost, and it goes on", arguments: 0..<8)
    func fullDisk(seed: Int) {
        let entries: [SessionScript.Entry] = [
            .init(after: .seconds(1), .prompt(0)),
            .init(after: .milliseconds(Int64(60 * seed)), .fillDisk(leaving: 3_000 * seed, .seconds(30))),
            .init(after: .seconds(1), .prompt(1)),
            .init(after: .milliseconds(300), .cancel(2)),
            .init(
                after: .seconds(2),
                seed % 2 == 0
                    ? .killDesk(.power(seed: UInt64(seed)), startingAgainAfter: .seconds(2))
                    : .stopDesk(startingAgainAfter: .seconds(2))),
            .init(after: .seconds(6), .prompt(2)),
        ]
        #expect(broken(entries, seed: seed) == [])
    }
}
