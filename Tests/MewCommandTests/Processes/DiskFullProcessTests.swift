import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: a desk whose state directory is on a disk of its own (tmpfs), three devices that stay connected, real processes. The disk
// is filled to the last byte at twenty points, and freed.
//
// Law (NEEDS N-34): everybody is told within two seconds that nothing is being saved; no turn begins meanwhile; whatever was asked has
// an end; what was said before is there afterwards; and everything goes on by itself when there is room.

@Suite("The disk fills and is freed, with real processes", .serialized, .timeLimit(.minutes(4)))
struct DiskFullProcessTests {
    /// NEEDS N-34.
    private static let warningTime: Duration = .seconds(2)

    @Test(
        "at each point everybody is told in time, nothing begins, everything ends, and nothing is lost",
        arguments: DiskPoint.groups.keys.sorted())
    func points(of group: String) async throws {
        let stage = try await DiskStage()
        var (sessions, slowest): ([String], Duration) = ([], .zero)
        for point in DiskPoint.groups[group, default: []] {
            let round = try await DiskRound(stage, point.scene)
            let time = try await fill(round, point)
            #expect(time < Self.warningTime, "\(point.name): told after \(time)")
            try await free(round, point)
            slowest = max(slowest, time)
            if point.keepsHistory { sessions.append(round.session) }
        }
        print("figure: disk full at the points '\(group)': everybody was told within \(slowest)")
        try await outliveRestart(stage, sessions)
        await stage.end()
    }

    @Test("there are twenty points")
    func twentyPoints() {
        let names = DiskPoint.groups.values.joined().map(\.name)
        #expect(names.count == 20 && Set(names).count == 20)
    }

    /// - Returns: how long it took until everybody had been told.
    private func fill(_ round: DiskRound, _ point: DiskPoint) async throws -> Duration {
        let (stage, clock) = (round.stage, ContinuousClock())
        let before = try await stage.marks()
        try await stage.disk.fill()
        let start = clock.now
        try await point.act(round)
        try await stage.everybodyHears(isSaving: false, after: round.marks)
        let time = start.duration(to: clock.now)
        try await point.whileFull(round)
        #expect(try await stage.marks() == before, "\(point.name): a command began while nothing was saved")
        return time
    }

    private func free(_ round: DiskRound, _ point: DiskPoint) async throws {
        let stage = round.stage
        try await stage.disk.makeRoom()
        switch point.course {
        case .daemonGoesOn:
            try await stage.everybodyHears(isSaving: true, after: round.marks)
            try await point.after(round)
            try await stage.everythingEnds()
        case .daemonEnds:
            await stage.disconnect()
            try await stage.start()
            try await point.after(round)
            try await stage.connect()
        }
        #expect(try await stage.machines[0].run("ops").out == "Nothing is pending.\n", "\(point.name)")
        guard point.keepsHistory else { return }
        let (known, now) = (ids(round.known), ids(try await stage.history(round.session)))
        #expect(Array(now.prefix(known.count)) == known, "\(point.name): what was said before is not there")
    }

    private func ids(_ messages: [String]) -> [String?] {
        messages.map { (try? JSON(parsing: $0))?["message"]?["id"]?.asString }
    }

    private func outliveRestart(_ stage: DiskStage, _ sessions: [String]) async throws {
        var before: [[String]] = []
        for session in sessions { before.append(try await stage.history(session)) }
        await stage.daemon.stop()
        try await stage.start()
        for (session, history) in zip(sessions, before) {
            #expect(try await stage.history(session) == history, "another transcript after the restart")
        }
    }
}
