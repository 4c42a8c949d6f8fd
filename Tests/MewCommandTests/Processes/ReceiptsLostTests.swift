import Glibc
import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: a desk in the middle, a laptop and a phone on two islands. The laptop's island takes in nothing of the desk from the
// moment of storing on; what it sends still leaves. The phone sees that the prompt is stored.
//
// Law (NEEDS N-29, spec/native-wire.md §3): what nobody has heard of is unknown and stays unknown, through the restart of the client
// and of the daemon, until somebody asks; and it has run once at most.

@Suite(
    "Receipts that are lost, with real processes", .serialized, .timeLimit(.minutes(3)),
    .enabled("namespaces with nft(8) are not permitted here") { await Islands.arePermitted })
struct ReceiptsLostTests {
    /// How far the prompt is when the daemon ends.
    enum Moment: String, CaseIterable, Sendable {
        case waiting = "it waits behind another turn"
        case asking = "its command asks for permission"
        case over = "its turn is over"
    }

    enum Ending: String, CaseIterable, Sendable {
        case inOrder = "the daemon is stopped"
        case killed = "the daemon is killed"
    }

    @Test(
        "a prompt whose receipts are lost ran once at most, and 'mew ops --check' tells how it ended",
        arguments: Moment.allCases, Ending.allCases)
    func lost(_ moment: Moment, _ ending: Ending) async throws {
        let stage = try await LostStage()
        try await stage.prompt(until: moment)
        #expect(try await stage.pending() == ["unknown"], "the client's restart leaves it unknown")
        let second = try await stage.restart(ending)
        #expect(try await stage.pending() == ["unknown"], "so does the daemon's")
        try await stage.hearAgain()
        if moment == .waiting { try await stage.letRun() }
        let told = try await stage.laptop.run("ops", "desk", "--check")
        let end = moment == .asking ? "interrupted" : "completed"
        #expect(told.exit == 0 && told.out.contains("prompt: \(end)"), "\(told.out)\(told.err)")
        #expect(try await stage.pending() == [])
        #expect(try await stage.marks() == (moment == .asking ? [] : ["ran"]))
        await second.stop()
    }

    @Test("sent again as it was, it says how it ended and does not run again")
    func sentAgain() async throws {
        let stage = try await LostStage()
        try await stage.prompt(until: .over)
        let second = try await stage.restart(.killed)
        try await stage.hearAgain()
        let told = try await stage.laptop.run("ops", "desk", "1", "--resend")
        #expect(told.exit == 0 && told.out.contains("prompt: completed"), "\(told.out)\(told.err)")
        #expect(try await stage.pending() == [])
        #expect(try await stage.marks() == ["ran"])
        await second.stop()
    }
}

private struct LostStage {
    private let islands: Islands
    private let desk: RealMachine
    private let daemon: RealDaemon
    let laptop: RealMachine
    private let phone: RealMachine
    private let session: String

    init() async throws {
        islands = try await Islands()
        desk = RealMachine().started(by: islands.middle)
        (laptop, phone) = (
            RealMachine().started(by: islands.one), RealMachine().started(by: islands.other)
        )
        daemon = try await RealDaemon(desk, host: Islands.middleHost)
        for device in [laptop, phone] { try await daemon.introduce(device) }
        session = try #require(try await laptop.run("new", "desk").outLines.first)
    }

    private var marksPath: String { desk.home + "/marks" }

    /// The laptop prompts into silence and is killed; the phone sees what the laptop does not.
    func prompt(until moment: ReceiptsLostTests.Moment) async throws {
        let (client, watcher) = (try await BenchDevice(laptop), try await BenchDevice(phone))
        for device in [client, watcher] { try await device.perform("attach \(session)") }
        if moment == .waiting {
            let mark = watcher.mark
            try await watcher.perform("prompt \(session) true")
            try await watcher.find(type: "permission_request", after: mark)
        }
        try await islands.deafen(islands.one)
        try await client.perform("prompt \(session) echo ran >>\(marksPath)")
        try await watcher.next("the laptop's prompt") {
            $0["type"] == "user_message" && $0["text"]?.asString?.hasPrefix("echo ran") == true
        }
        if moment != .waiting { try await watcher.next(type: "permission_request") }
        if moment == .over {
            try await letEnd(watcher)
        }
        await client.kill()
        await watcher.end()
    }

    /// The states of what the laptop has no end of. Nobody is asked.
    func pending() async throws -> [String] {
        try await laptop.run("ops", "--json").objects.compactMap { $0["state"]?.asString }
    }

    func restart(_ ending: ReceiptsLostTests.Ending) async throws -> RealDaemon {
        switch ending {
        case .inOrder: await daemon.stop()
        case .killed:
            daemon.process.signal(SIGKILL)
            #expect(await daemon.process.exit == 128 + SIGKILL)
        }
        let port = try #require(daemon.address.split(separator: ":").last)
        return try await RealDaemon(desk, host: Islands.middleHost, port: String(port))
    }

    func hearAgain() async throws { try await islands.cure(islands.one) }

    /// What waited begins when its session is loaded; the phone allows it.
    func letRun() async throws {
        let watcher = try await BenchDevice(phone)
        try await watcher.perform("attach \(session)")
        // The attach may have brought the question already.
        try await watcher.find(type: "permission_request", after: 0)
        try await letEnd(watcher)
        await watcher.end()
    }

    /// Allows what is asked, and waits for the end of its turn as the session's own channel tells it.
    private func letEnd(_ watcher: BenchDevice) async throws {
        let mark = watcher.mark
        try await watcher.perform("answer \(session) once")
        try await watcher.find("end of the turn", after: mark) {
            $0["type"] == "session_activity_changed" && $0["activity"] == "idle" && $0["seq"] != nil
        }
    }

    /// What ran.
    func marks() async throws -> [String] {
        try await RealMachine.Result(of: RealProcess(["sh", "-c", "cat \(marksPath) 2>/dev/null || true"])).outLines
    }
}
