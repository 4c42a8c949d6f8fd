import Glibc
import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: a desk and two laptops, real processes on loopback; one of the laptops behaves badly on one connection. Law (issue 4): the
// daemon's memory grows by less than 32 MB per client, whatever the client does.

@Suite("What a client may cost a daemon", .timeLimit(.minutes(5)))
struct MemoryPerClientTests {
    private static let mostKibibytes = 32_000_000 / 1_024

    @Test(
        "a paired client that asks for as much memory as it can gets less than 32 MB",
        arguments: HostileClient.Mode.allCases)
    func hostile(mode: HostileClient.Mode) async throws {
        let machine = RealMachine()
        let built = try await machine.run("bench", "big-session", "--events", "2000", "--bytes", "8000000", "--json")
        let session = try #require(built.objects.last?["session_id"]?.asString, "\(built.err)")
        let (daemon, laptop, bad) = (try await RealDaemon(machine), RealMachine(), RealMachine())
        try await daemon.introduce(laptop)
        try await daemon.introduce(bad)
        // What the first client and the first turn make the daemon keep is no cost of this one.
        try await attach(laptop, session)
        if mode.floods > 0 { try await flood(laptop, session, times: 2) }
        let memory = Memory(of: daemon.process.number)
        let before = try memory.kibibytes("VmRSS")
        try memory.forgetPeak()
        let hostile = try bad.start(
            [
                "bench", "hostile-session", mode.rawValue, "desk", session, "--milliseconds", "\(mode.milliseconds)",
                "--json",
            ])
        let said = try JSON(parsing: try #require(await hostile.out.line(containing: "ready"), "\(hostile.err.text)"))
        #expect(try #require(said["said"]?.asInteger) >= mode.leastSaid)
        try await flood(laptop, session, times: mode.floods)
        let peak = try memory.kibibytes("VmHWM")
        print("figure: memory that a client in mode \(mode.rawValue) costs: \(peak - before) KiB")
        #expect(peak - before < Self.mostKibibytes, "\(before) KiB before, \(peak) KiB at most")
        // Others do not notice.
        try await attach(laptop, session)
        hostile.signal(SIGKILL)
        await daemon.stop()
    }

    private func attach(_ laptop: RealMachine, _ session: String) async throws {
        let screen = try await laptop.run("bench", "attach", "desk", session, "--count", "2", "--json")
        #expect(screen.exit == 0, "\(screen.err)")
    }

    /// A megabyte of output each time, as much as is told live.
    private func flood(_ laptop: RealMachine, _ session: String, times: Int) async throws {
        for _ in 0..<times {
            let turn = try await laptop.run(
                "prompt", "desk", "--session", session, "--permit", "once", "yes | head -c 1100000", "--json")
            #expect(turn.exit == 0, "\(turn.err)")
        }
    }
}

extension HostileClient.Mode {
    /// Megabytes that the session tells while the client does not read: more than its channels hold.
    fileprivate var floods: Int {
        switch self {
        case .deaf: 6
        case .channels, .mix: 2
        case .pages, .halves, .visits, .prompts: 0
        }
    }

    /// What holds the writer up for ever is not waited for.
    fileprivate var milliseconds: Int {
        switch self {
        case .visits, .prompts: 60_000
        case .deaf, .pages, .channels, .halves, .mix: 3_000
        }
    }

    /// How much the daemon takes at least, or the attack is none.
    fileprivate var leastSaid: Int64 {
        switch self {
        case .deaf: 1
        case .pages: 100
        case .channels: 64
        case .mix: 48
        case .halves: 0
        case .visits: 300
        case .prompts: 25
        }
    }
}

/// What the kernel says a process has in memory (proc_pid_status(5)).
private struct Memory {
    let directory: String

    init(of process: pid_t) {
        directory = "/proc/\(process)"
    }

    func kibibytes(_ name: String) throws -> Int {
        let file = open(directory + "/status", O_RDONLY)
        try #require(file >= 0)
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 8_192)
        let count = max(0, read(file, &buffer, buffer.count))
        let line = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix(name + ":")
        }
        return try #require(line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
    }

    /// VmHWM is counted anew (proc_pid_clear_refs(5)).
    func forgetPeak() throws {
        let file = open(directory + "/clear_refs", O_WRONLY)
        try #require(file >= 0)
        defer { close(file) }
        try #require(write(file, "5", 1) == 1)
    }
}
