import MewTestSupport
import MewWire
import Testing

@testable import MewHost

@Suite("What a directory listing shows")
struct WorkspaceListingTests {
    private let scratch = ScratchDirectory()
    private var workspace: Workspace { Workspace(cwd: scratch.path) }

    @Test("directories come first, then names without regard to case; files have a size")
    func order() throws {
        scratch.file("beta", "12345")
        scratch.file("Alpha")
        scratch.directory("zoo")
        scratch.directory("Lib")
        let listing = try workspace.list(nil)
        #expect(listing.path == "")
        #expect(listing.entries.map(\.name) == ["Lib", "zoo", "Alpha", "beta"])
        #expect(listing.entries.map(\.isDirectory) == [true, true, false, false])
        #expect(listing.entries.map(\.size) == [nil, nil, 0, 5])
        #expect(!listing.isCut)
    }

    @Test("names that differ only in case keep one order")
    func caseTie() throws {
        for name in ["b", "B", "a", "A"] { scratch.file(name) }
        #expect(try workspace.list("").entries.map(\.name) == ["A", "a", "B", "b"])
    }

    @Test("names that begin with a dot are hidden, but can be entered by whoever knows them")
    func dotNames() throws {
        scratch.directory(".git")
        scratch.file(".git/config")
        scratch.file("shown")
        #expect(try workspace.list(".").entries.map(\.name) == ["shown"])
        #expect(try workspace.list(".git").entries.map(\.name) == ["config"])
    }

    @Test("the reply names the path without dots, links and repeated slashes")
    func cleanPath() throws {
        scratch.directory("a")
        scratch.directory("a/b")
        scratch.link("l", to: "a")
        #expect(try workspace.list("./a//b/").path == "a/b")
        #expect(try workspace.list("a/b/..").path == "a")
        #expect(try workspace.list("l/b").path == "a/b")
    }

    @Test("a name that is no UTF-8 is shown with replacement characters")
    func brokenName() throws {
        scratch.rawDirectory([0x61, 0xff, 0x62])
        let listing = try workspace.list("")
        #expect(listing.entries.map(\.name) == ["a\u{fffd}b"])
        #expect(listing.entries.map(\.isDirectory) == [true])
    }

    @Test("FIFOs and links to devices are names without a size, and looking does not block")
    func specialFiles() throws {
        scratch.fifo("pipe")
        scratch.link("null", to: "/dev/null")
        let listing = try workspace.list("")
        #expect(listing.entries.map(\.name) == ["null", "pipe"])
        #expect(listing.entries.allSatisfy { !$0.isDirectory && $0.size == nil })
        #expect(throws: WorkspaceError.notDirectory("pipe")) { try workspace.list("pipe") }
        #expect(throws: WorkspaceError.escapes("null")) { try workspace.list("null") }
    }

    @Test("a link that stays inside shows what it points to")
    func insideLinks() throws {
        scratch.directory("src")
        scratch.file("src/main.swift", "abc")
        scratch.link("to-directory", to: "src")
        scratch.link("to-file", to: "src/main.swift")
        scratch.link("absolute", to: scratch("src"))
        scratch.link("dangling", to: "nowhere")
        let entries = try workspace.list("").entries
        #expect(entries.map(\.name) == ["absolute", "src", "to-directory", "dangling", "to-file"])
        #expect(entries.map(\.isDirectory) == [true, true, true, false, false])
        #expect(entries.map(\.size) == [nil, nil, nil, nil, 3])
        #expect(try workspace.list("absolute").entries.map(\.name) == ["main.swift"])
    }

    @Test("ten thousand entries are shown, one more cuts the listing and says so")
    func entryBound() throws {
        for number in 0..<DirectoryListing.maxEntries { scratch.file("f\(number)") }
        #expect(try workspace.list("").entries.count == DirectoryListing.maxEntries)
        #expect(try !workspace.list("").isCut)
        scratch.file("one-more")
        #expect(try workspace.list("").entries.count == DirectoryListing.maxEntries)
        #expect(try workspace.list("").isCut)
    }

    @Test("one mebibyte of names is shown, a byte more cuts the listing")
    func nameBound() throws {
        let length = 255
        let full = DirectoryListing.maxNameBytes / length
        for number in 0..<full { scratch.file(String(number).padded(to: length)) }
        scratch.file("x".padded(to: DirectoryListing.maxNameBytes % length))
        #expect(try !workspace.list("").isCut)
        scratch.file("y")
        #expect(try workspace.list("").isCut)
    }

    @Test("without a directory, or with one that is gone, the refusal says which")
    func missing() throws {
        scratch.file("plain")
        #expect(throws: WorkspaceError.unusable(path: "gone", reason: "no such file or directory")) {
            try workspace.list("gone")
        }
        #expect(throws: WorkspaceError.notDirectory("plain")) { try workspace.list("plain") }
        #expect(throws: WorkspaceError.notDirectory("plain/below")) { try workspace.list("plain/below") }
        #expect(throws: WorkspaceError.unusable(path: scratch("no"), reason: "no such file or directory")) {
            try Workspace(cwd: scratch("no")).list("")
        }
    }

    @Test("refusals read as the wire spells them")
    func words() {
        #expect(WorkspaceError.noCwd.description == "session has no cwd")
        #expect(WorkspaceError.absolutePath("/etc").description == "absolute paths not allowed: /etc")
        #expect(WorkspaceError.escapes("../x").description == "path escapes workspace: ../x")
        #expect(WorkspaceError.notDirectory("f").description == "not a directory: f")
    }
}

extension String {
    fileprivate func padded(to length: Int) -> String { self + String(repeating: "_", count: length - utf8.count) }
}
