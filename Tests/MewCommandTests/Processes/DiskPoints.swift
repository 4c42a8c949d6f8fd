import MewWire
import Testing

@testable import mew

/// A point at which the disk fills: what goes on then, what is done while it is full, and what is left to do when there is room.
struct DiskPoint: Sendable {
    enum Scene: Sendable {
        /// One turn is over, nothing runs.
        case idle
        /// A command waits for permission.
        case asking
        /// A command has told that it has begun, and waits.
        case streaming
        /// The same, and another prompt is behind it.
        case queued
    }

    enum Course: Sendable {
        case daemonGoesOn
        /// While it is full; the next one is started when there is room.
        case daemonEnds
    }

    let name: String
    let scene: Scene
    let course: Course
    /// Says what needs the disk first; waits for nothing.
    let act: @Sendable (DiskRound) async throws -> Void
    /// When everybody was told that nothing is being saved.
    let whileFull: @Sendable (DiskRound) async throws -> Void
    let after: @Sendable (DiskRound) async throws -> Void
    /// Whether what was said before is still there at the end.
    let keepsHistory: Bool

    private init(
        _ name: String, _ scene: Scene, course: Course = .daemonGoesOn, keepsHistory: Bool = true,
        act: @escaping @Sendable (DiskRound) async throws -> Void,
        whileFull: @escaping @Sendable (DiskRound) async throws -> Void = { _ in },
        after: @escaping @Sendable (DiskRound) async throws -> Void = { _ in }
    ) {
        (self.name, self.scene, self.course, self.keepsHistory) = (name, scene, course, keepsHistory)
        (self.act, self.whileFull, self.after) = (act, whileFull, after)
    }

    /// Those that share one daemon. Few enough that its WAL is never used again from the start.
    static let groups = ["idle": idle, "asking": asking, "streaming": streaming, "queues": queues, "lives": lives]

    // MARK: - Nothing runs

    private static let idle = [
        DiskPoint("a prompt", .idle) { round in
            round.say("prompt", round.command)
        } whileFull: { round in
            try await round.refused("prompt")
        } after: { round in
            try await round.runs(round.command)
        },
        DiskPoint("a new session", .idle) { round in
            round.laptop.say("new")
        } whileFull: { round in
            try await round.fails("new")
        } after: { round in
            try await round.laptop.perform("new")
        },
        DiskPoint("/clear", .idle, keepsHistory: false) { round in
            round.say("slash", "/clear")
        } whileFull: { round in
            try await round.fails("slash")
            #expect(try await round.stage.history(round.session) == round.known, "nothing was cleared")
        } after: { round in
            try await round.laptop.perform("slash \(round.session) /clear")
        },
        DiskPoint("a title", .idle) { round in
            round.say("rename", "another")
        } whileFull: { round in
            try await round.fails("rename")
        } after: { round in
            try await round.laptop.perform("rename \(round.session) another")
        },
    ]

    // MARK: - A question is open

    private static let asking = [
        DiskPoint("yes", .asking) { round in
            round.say("answer", "once")
        } after: { round in
            try await round.answerAgain("once")
        },
        DiskPoint("no", .asking) { round in
            round.say("answer", "deny")
        } after: { round in
            try await round.answerAgain("deny")
        },
        DiskPoint("a cancel of what asks", .asking) { round in
            round.say("cancel")
        } after: { round in
            try await round.turnEnds("cancelled")
        },
        DiskPoint("guidance for what asks", .asking) { round in
            round.say("guide", "faster")
        } whileFull: { round in
            try await round.refused("guide")
        } after: { round in
            try await round.answerAgain("once")
        },
    ]

    // MARK: - Output streams

    private static let streaming = [
        DiskPoint("output", .streaming) { round in
            round.stage.go()
        } after: { round in
            try await round.turnEnds("completed")
        },
        DiskPoint("a cancel of what streams", .streaming) { round in
            round.say("cancel")
        } after: { round in
            try await round.turnEnds("cancelled")
        },
        DiskPoint("a page of the history, over the output", .streaming) { round in
            round.stage.go()
            round.say("older")
        } after: { round in
            try await round.turnEnds("completed")
        },
        DiskPoint("a permission mode", .streaming) { round in
            round.say("mode", "permissive")
        } whileFull: { round in
            try await round.fails("mode")
            round.stage.go()
        } after: { round in
            try await round.turnEnds("completed")
        },
    ]

    // MARK: - Several

    private static let queues = [
        DiskPoint("the end of a turn behind which another waits", .queued) { round in
            round.stage.go()
        } after: { round in
            try await round.turnEnds("completed")
            try await round.letNextRun()
        },
        DiskPoint("a prompt of each of three devices", .asking) { round in
            for device in round.stage.devices { device.say("prompt \(round.session) \(round.stage.command())") }
        } after: { round in
            try await round.answerAgain("once")
        },
        DiskPoint("a device that comes while nothing is saved", .streaming) { round in
            round.stage.go()
        } whileFull: { round in
            let late = try await BenchDevice(round.stage.machines[1])
            try await late.find("daemon_state") { $0["type"] == "daemon_state" && $0["saving"] == .bool(false) }
            await late.end()
        } after: { round in
            try await round.turnEnds("completed")
        },
        DiskPoint("deleting what asks", .asking, keepsHistory: false) { round in
            round.say("delete")
        } whileFull: { round in
            try await round.fails("delete")
        } after: { round in
            try await round.laptop.perform("delete \(round.session)")
        },
    ]

    // MARK: - The daemon's life

    private static let lives = [
        DiskPoint("the end of the daemon in order", .streaming, course: .daemonEnds) { round in
            round.stage.go()
        } whileFull: { round in
            await round.stage.daemon.stop()
        } after: { round in
            try await round.isTold("interrupted")
        },
        DiskPoint("the end of the daemon by kill -9", .streaming, course: .daemonEnds) { round in
            round.stage.go()
        } whileFull: { round in
            await round.stage.kill()
        } after: { round in
            try await round.isTold("interrupted")
        },
        DiskPoint("the end of the daemon by kill -9, over an answer", .asking, course: .daemonEnds) { round in
            round.say("answer", "once")
        } whileFull: { round in
            await round.stage.kill()
        } after: { round in
            try await round.isTold("interrupted")
        },
        DiskPoint("a start of the daemon while nothing can be saved", .streaming, course: .daemonEnds) { round in
            round.stage.go()
        } whileFull: { round in
            await round.stage.kill()
            try await round.stage.startInVain()
        } after: { round in
            try await round.isTold("interrupted")
        },
    ]
}
