import Glibc
import Testing

@testable import MewLoop

@Suite("Processes, by number and start")
struct ProcessSessionTests {
    /// A shell that has printed `up` after it started two others, one of them in a group of its own.
    private func family() throws -> (child: ChildProcess, output: Pipe) {
        let output = try Pipe()
        let command = "trap '' TERM; sleep 1000 & set -m; sleep 1000 & set +m; echo up; while :; do sleep 1000; done"
        let child = try ChildProcess(
            .init(
                path: "/bin/bash", arguments: ["bash", "-c", command], environment: ["MEW_TEST=family"], directory: nil),
            input: nil, output: output.writer)
        #expect(output.reader.read(maxBytes: 10) == .bytes(Array("up\n".utf8)))
        return (child, output)
    }

    private func end(_ child: ChildProcess) -> ProcessExit? {
        var wait = pollfd(fd: child.descriptor.number, events: Int16(POLLIN), revents: 0)
        _ = poll(&wait, 1, -1)
        return child.reap()
    }

    @Test("killing a session leaves nobody of it, in whatever group")
    func kill() throws {
        let family = try family()
        let session = ProcessSession(leader: family.child.identity)
        #expect(session.members().count >= 3)
        session.signal(ProcessSession.termination)
        #expect(family.child.identity.exists, "it ignores that")
        #expect(session.kill() == [])
        #expect(end(family.child) == .signal(SIGKILL))
        #expect(!family.child.identity.exists)
    }

    @Test("a session whose leader is gone is found by the record, as after a crash")
    func leaderGone() throws {
        let family = try family()
        let session = ProcessSession(leader: family.child.identity)
        #expect(Glibc.kill(family.child.identity.number, SIGKILL) == 0)
        #expect(end(family.child) == .signal(SIGKILL))
        #expect(session.members().count >= 2)
        #expect(session.kill() == [])
        #expect(session.members() == [])
    }

    @Test("a process with the same number and another start, or of another boot, is a stranger")
    func stranger() throws {
        let family = try family()
        let identity = family.child.identity
        let later = ProcessIdentity(
            number: identity.number, startTicks: identity.startTicks + 1, bootID: identity.bootID)
        let boot = ProcessIdentity(number: identity.number, startTicks: identity.startTicks, bootID: "another")
        for other in [later, boot] {
            #expect(!other.exists)
            #expect(ProcessSession(leader: other).members() == [])
            #expect(ProcessSession(leader: other).kill() == [])
        }
        #expect(identity.exists)
        ProcessSession(leader: identity).kill()
        #expect(end(family.child) == .signal(SIGKILL))
    }

    @Test("processes are found by an entry of their environment, whole and not by a part of it")
    func marked() throws {
        let family = try family()
        func numbers(_ marker: String) -> Set<Int32> {
            Set(ProcessSession.processes(marked: marker).map(\.number))
        }
        #expect(numbers("MEW_TEST=family").contains(family.child.identity.number))
        #expect(!numbers("MEW_TEST=famil").contains(family.child.identity.number))
        ProcessSession(leader: family.child.identity).kill()
        _ = end(family.child)
    }

    @Test("a program's name may hold blanks and parentheses")
    func oddName() throws {
        let text = "42 (a) b (c) S 1 7 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 100 200"
        let status = try #require(ProcessStatus(number: 42, text: Array(text.utf8)))
        #expect(status.session == 9 && status.startTicks == 12_345 && !status.isDead)
        for length in 0..<text.utf8.count {
            _ = ProcessStatus(number: 42, text: Array(text.utf8.prefix(length)))  // must not trap
        }
    }

    @Test("an exit status is told, and a program that is not there is an error of the start")
    func exits() throws {
        func start(_ path: String, _ arguments: String...) throws -> ChildProcess {
            try ChildProcess(
                .init(path: path, arguments: arguments, environment: [], directory: "/"), input: nil, output: nil)
        }
        #expect(end(try start("/bin/sh", "sh", "-c", "exit 7")) == .status(7))
        #expect(throws: SystemError.self) { try start("/no/such/program") }
    }
}
