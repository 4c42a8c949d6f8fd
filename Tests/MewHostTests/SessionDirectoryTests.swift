import MewTestSupport
import MewWire
import Testing

@testable import MewHost

@Suite("Where a new session may work")
struct SessionDirectoryTests {
    private let scratch = ScratchDirectory()

    @Test("an existing directory is taken as asked for, its links resolved beside it")
    func existing() throws {
        scratch.directory("app")
        scratch.link("alias", to: "app")
        let directory = try SessionDirectory(asked: scratch("alias"), home: "/")
        #expect(directory.cwd == scratch("alias"))
        #expect(directory.workspacePath == scratch("app"))
    }

    @Test("nothing asked for, an empty path and ~ mean the home directory")
    func home() throws {
        scratch.directory("app")
        for asked in [nil, "", "~"] {
            #expect(try SessionDirectory(asked: asked, home: scratch.path).cwd == scratch.path)
        }
        #expect(try SessionDirectory(asked: "~/app", home: scratch.path).cwd == scratch("app"))
    }

    @Test("what is missing or no directory is refused in the words of the wire")
    func refusals() {
        scratch.file("plain")
        scratch.link("dangling", to: "nowhere")
        func words(_ asked: String) -> String {
            do { return "accepted \(try SessionDirectory(asked: asked, home: "/"))" } catch { return error.description }
        }
        #expect(words(scratch("gone")) == "session cwd does not exist: \(scratch("gone"))")
        #expect(words(scratch("dangling")) == "session cwd does not exist: \(scratch("dangling"))")
        #expect(words(scratch("plain")) == "session cwd is not a directory: \(scratch("plain"))")
        #expect(words("app") == "session cwd is not an absolute path: app")
        #expect(words("/a\u{0}b") == "session cwd cannot be used (invalid argument): /a\u{0}b")
        #expect(words("/" + String(repeating: "a", count: 4_096)) == "session cwd is too long")
        let long = words("/" + String(repeating: "a", count: 300))
        #expect(long.hasPrefix("session cwd cannot be used (file name too long)"))
    }
}

@Suite("Projects")
struct ProjectTests {
    private func use(_ path: String, _ milliseconds: Int64) -> ProjectUse {
        ProjectUse(path: path, lastUsed: WallTime(milliseconds: milliseconds))
    }

    @Test("sessions of one path make one project, the last used first, ties by path")
    func grouping() {
        let projects = ProjectInfo.all(in: [
            use("/home/me/app", 10), use("/home/me/lib", 20), use("/home/me/app", 30), use("/", 20),
        ])
        #expect(projects.map(\.path) == ["/home/me/app", "/", "/home/me/lib"])
        #expect(projects.map(\.displayName) == ["app", "/", "lib"])
        #expect(projects.map(\.sessionCount) == [2, 1, 1])
        #expect(projects.map(\.lastUsedAt?.milliseconds) == [30, 20, 20])
    }

    @Test("no sessions, no projects")
    func empty() {
        #expect(ProjectInfo.all(in: []).isEmpty)
    }
}
