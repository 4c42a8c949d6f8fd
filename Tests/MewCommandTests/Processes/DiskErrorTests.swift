import Glibc
import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: a desk and a laptop whose state directories are on disks of a few hundred kilobytes, in mount namespaces of their own.
// Law (NEEDS N-34): a disk that takes nothing more is told as what it is, nothing is half done, and everything goes on when there
// is room again.

@Suite("Disks that take nothing more", .timeLimit(.minutes(3)))
struct DiskErrorTests {
    @Test("each case has its sentence, and the same command works once the cause is gone")
    func table() async throws {
        let play = ErrorPlay(ErrorTable.disks)
        try await directories(play)
        try await databases(play)
        try await readOnly(play)
        try await fullAtStart(play)
        try await fullAtDaemon(play)
        try await fullAtDevice(play)
        play.end()
    }

    private func directories(_ play: ErrorPlay) async throws {
        let scratch = ScratchDirectory()
        let (foreign, file) = (scratch.directory("foreign"), scratch.file("file"))
        scratch.file("foreign/theirs")
        chmod(file, 0o644)
        try await play.expect("state directory of others", RealMachine(at: foreign), "id")
        try await play.expect("state directory is a file", RealMachine(at: file), "id")
        #expect(Self.mode(foreign) == 0o755 && Self.mode(file) == 0o644, "nothing was changed")
        let prepared = scratch("prepared")
        mkdir(prepared, 0o755)
        chmod(prepared, 0o755)
        try RealMachine(at: prepared).write(Array("{}".utf8), to: "config.json")
        try await play.expect(
            "state directory that others can enter, with nothing but mew's own files", RealMachine(at: prepared), "id")
        #expect(Self.mode(prepared) == 0o755, "nothing was changed")
    }

    private static func mode(_ path: String) -> mode_t {
        var info = stat()
        return stat(path, &info) == 0 ? info.st_mode & 0o777 : 0
    }

    private func databases(_ play: ErrorPlay) async throws {
        // Root may read every file unless it gives that right up.
        let unprivileged = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        let desk = RealMachine().started(by: geteuid() == 0 ? unprivileged : [])
        #expect(try await desk.run("id").exit == 0)
        let path = desk.home + "/sessions.db"
        mkdir(path, 0o700)
        try await play.expect("a directory in the place of the database", desk, "daemon")
        #expect(rmdir(path) == 0, "it is where it was")
        mkfifo(path, 0o600)
        try await play.expect("a named pipe in the place of the database", desk, "daemon")
        #expect(unlink(path) == 0)
        try desk.write([], to: "sessions.db")
        chmod(path, 0)
        try await play.expect("database that this user may not read", desk, "daemon")
        #expect(Self.mode(path) == 0, "nothing was changed")
        // Only root can give a file away; others know files of root's.
        #expect(
            geteuid() == 0 ? chown(path, 65_534, 65_534) == 0 : unlink(path) == 0 && symlink("/etc/passwd", path) == 0)
        try await play.expect("database of another user", desk, "daemon")
    }

    private func readOnly(_ play: ErrorPlay) async throws {
        let disk = try await SmallDisk(kibibytes: 256)
        let (laptop, daemon) = (RealMachine(on: disk), try await RealDaemon())
        try await daemon.introduce(laptop)
        let session = try #require(try await laptop.run("new", "desk").outLines.first)
        try await disk.makeReadOnly()
        try await play.expect("state directory read-only, at the daemon's start", laptop, "daemon")
        try await play.expect("state directory that cannot be made", RealMachine(on: disk, "other"), "daemon")
        let window = try await PairingWindowProcess(daemon.machine)
        try await play.expect("device's state directory read-only, pairing", laptop, "add", window.payload)
        try await play.expect(
            "device's state directory read-only, prompting", laptop, "prompt", "desk", "hi", "--session", session)
        #expect(try await laptop.run("sessions", "desk").exit == 0, "what only reads works")
        try await disk.run("mount -o remount,rw .")
        #expect(try await laptop.run("add", window.payload).exit == 0, "the code was not spent")
        await daemon.stop()
    }

    private func fullAtStart(_ play: ErrorPlay) async throws {
        let disk = try await SmallDisk(kibibytes: 1_024)
        let desk = RealMachine(on: disk)
        try await disk.fill()
        try await play.expect("disk full, making the key", desk, "daemon")
        try await disk.makeRoom()
        #expect(try await desk.run("id").exit == 0)
        try await disk.fill()
        try await play.expect("disk full, making the database", desk, "daemon")
        try await disk.makeRoom()
        try await RealDaemon(desk).stop()
    }

    private func fullAtDaemon(_ play: ErrorPlay) async throws {
        let disk = try await SmallDisk(kibibytes: 1_024)
        let (daemon, laptop, phone) = (try await RealDaemon(RealMachine(on: disk)), RealMachine(), RealMachine())
        try await daemon.introduce(laptop)
        let session = try #require(try await laptop.run("new", "desk").outLines.first)
        try await disk.fill()
        try await play.expect("daemon's disk full, a new session", laptop, "new", "desk")
        try await play.expect("daemon's disk full, a prompt", laptop, "prompt", "desk", "hi", "--session", session)
        let window = try await PairingWindowProcess(daemon.machine)
        try await play.expect("daemon's disk full, pairing", phone, "add", window.payload)
        #expect(try await daemon.machine.run("status").out.contains("NOTHING IS BEING SAVED"))
        try await disk.makeRoom()
        while try await daemon.machine.run("status").out.contains("NOTHING IS BEING SAVED") {}
        let added = try await phone.run("add", window.payload)
        #expect(added.exit == 0, "the code was spent: \(added.err)")
        let turn = try await laptop.run("prompt", "desk", "echo", "hi", "--session", session, "--permit", "once")
        #expect(turn.exit == 0, "\(turn.err)")
        await daemon.stop()
    }

    private func fullAtDevice(_ play: ErrorPlay) async throws {
        let disk = try await SmallDisk(kibibytes: 256)
        let (laptop, daemon) = (RealMachine(on: disk), try await RealDaemon())
        #expect(try await laptop.run("id").exit == 0)
        try await disk.fill()
        let window = try await PairingWindowProcess(daemon.machine)
        try await play.expect("device's disk full, pairing", laptop, "add", window.payload)
        try await disk.makeRoom()
        #expect(try await laptop.run("add", window.payload, "--name", "desk").exit == 0, "the code was not spent")
        try await disk.fill()
        try await play.expect("device's disk full, a new session", laptop, "new", "desk")
        #expect(try await laptop.run("sessions", "desk").exit == 0, "what only reads works")
        await daemon.stop()
    }

    @Test("a turn in whose middle the disk fills stands still, says so, and goes on without a hole when there is room")
    func middleOfTurn() async throws {
        let disk = try await SmallDisk(kibibytes: 1_024)
        let (daemon, laptop) = (try await RealDaemon(RealMachine(on: disk)), RealMachine())
        try await daemon.introduce(laptop)
        let go = disk.path + "/go"
        let prompt = try laptop.start(
            [
                "prompt", "desk", "--permit", "once",
                "echo b''egun; until [ -e \(go) ]; do sleep 0.05; done; echo e''nded",
            ])
        #expect(await prompt.out.line(containing: "begun") != nil, "\(prompt.err.text)")
        let watch = try laptop.start(["watch", "desk", "1"])
        while try await daemon.machine.run("status").out.count(of: "round trip") < 2 {}
        try await disk.fill()
        try await disk.run("ln -s / go")  // a short link needs no room
        for command in [prompt, watch] {
            let line = await command.err.line(containing: "nothing is being saved on desk")
            #expect(line?.contains("turns wait until there is room") == true)
        }
        #expect(prompt.out.lines.last == "begun", "nothing is shown that is not stored")
        try await disk.makeRoom()
        #expect(await prompt.exit == 0, "\(prompt.err.text)")
        #expect(prompt.out.lines.suffix(2) == ["ended", "exit status 0"])
        #expect(prompt.err.text.contains("everything is being saved again on desk"))
        watch.signal(SIGINT)
        #expect(await watch.exit == 0)
        #expect(try await laptop.run("history", "desk", "1").out.contains("begun\nended\nexit status 0"))
        await daemon.stop()
    }
}

extension String {
    /// How often `text` is in it.
    fileprivate func count(of text: String) -> Int { ranges(of: text).count }
}
