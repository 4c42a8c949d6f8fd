import Glibc
import MewTestSupport
import MewWire
import Testing

@testable import mew

/// A desk on a small disk and three devices that stay connected to it, for tests in which the disk fills and is freed.
///
/// Touched by the task of its test only.
final class DiskStage {
    let disk: SmallDisk
    private(set) var daemon: RealDaemon
    /// The laptop, which does most; two that watch.
    let machines: [RealMachine]
    private(set) var devices: [BenchDevice] = []
    /// Not on the disk.
    private let scratch = ScratchDirectory()
    private var lastCommand = 0
    private var gate = ""

    init() async throws {
        // Commits of a group of points fill a WAL of less than 4 MB, which therefore never begins again from its start: each commit
        // needs room.
        disk = try await SmallDisk(kibibytes: 8_192)
        daemon = try await RealDaemon(RealMachine(on: disk))
        machines = (0..<3).map { _ in RealMachine() }
        for machine in machines { try await daemon.introduce(machine) }
        try await connect()
    }

    func connect() async throws {
        for machine in machines { devices.append(try await BenchDevice(machine)) }
    }

    /// What they asked is theirs no more.
    func disconnect() async {
        for device in devices { await device.kill() }
        devices = []
    }

    var laptop: BenchDevice { devices[0] }

    func kill() async {
        daemon.process.signal(SIGKILL)
        _ = await daemon.process.exit
    }

    func start() async throws {
        let port = try #require(daemon.address.split(separator: ":").last)
        daemon = try await RealDaemon(daemon.machine, port: String(port))
    }

    /// Starts a daemon that either says why it cannot, or runs and says that nothing is being saved; and kills it.
    func startInVain() async throws {
        let port = try #require(daemon.address.split(separator: ":").last)
        let process = try daemon.machine.start(["daemon", "--bind", "127.0.0.1:" + port, "--name", "desk"])
        guard await process.out.line(containing: "mew-node-id:") != nil else {
            #expect(process.err.text.contains("disk is full"), "\(process.err.text)")
            return
        }
        #expect(try await daemon.machine.run("status").out.contains("NOTHING IS BEING SAVED"))
        process.signal(SIGKILL)
        _ = await process.exit
    }

    // MARK: - What runs

    /// A command that names itself in the list of what ran, and what more it does.
    func command(_ rest: String = "true") -> String {
        lastCommand += 1
        return "echo \(lastCommand) >>\(scratch("marks")); \(rest)"
    }

    /// What ran, in order.
    func marks() async throws -> [String] {
        let path = scratch("marks")
        return try await RealMachine.Result(of: RealProcess(["sh", "-c", "cat \(path) 2>/dev/null || true"])).outLines
    }

    /// One that waits for `go`, tells that it has begun, and later that it has ended.
    func stalling() -> String {
        gate = "go\(lastCommand)"
        return command("echo b''egun; until [ -e \(scratch(gate)) ]; do sleep 0.02; done; echo e''nded")
    }

    /// Lets the last command that stalls go on.
    func go() { scratch.file(gate) }

    // MARK: - What is known

    /// The messages of a session, as somebody gets them who comes anew: their ends as well.
    func history(_ session: String) async throws -> [String] {
        let told = try await machines[0].run("history", "desk", session, "--json")
        #expect(told.exit == 0, "\(told.err)")
        return told.outLines
    }

    /// Everybody is told that nothing is being saved, or that everything is again.
    ///
    /// - Parameter marks: how much each device has told that is older.
    func everybodyHears(isSaving: Bool, after marks: [Int]) async throws {
        for (device, mark) in zip(devices, marks) {
            do {
                try await device.find("daemon_state", after: mark) {
                    $0["type"] == "daemon_state" && $0["saving"] == .bool(isSaving)
                }
            } catch {
                Issue.record(
                    "not told that saving is \(isSaving); the daemon said: \(daemon.process.err.text.suffix(2_000))")
                throw error
            }
        }
    }

    /// How much each device has told so far.
    var toldCounts: [Int] { devices.map(\.mark) }

    /// Every operation that a device sent has an end.
    func everythingEnds() async throws {
        for device in devices { for operation in device.operations { try await device.end(of: operation) } }
    }

    func end() async {
        for device in devices { await device.end() }
        await daemon.stop()
    }
}
