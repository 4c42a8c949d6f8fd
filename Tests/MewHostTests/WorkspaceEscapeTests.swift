import MewTestSupport
import MewWire
import Testing

@testable import MewHost

/// Attempts to see what lies outside `fence`, which stands beside `secret`:
///
///     scratch ─┬─ fence   (the workspace)
///              └─ secret ── inside-secret
@Suite("Files outside the fence (N-45)")
struct WorkspaceEscapeTests {
    private let scratch = ScratchDirectory()
    private var workspace: Workspace { Workspace(cwd: scratch("fence")) }

    init() {
        scratch.directory("fence")
        scratch.directory("fence/sub")
        scratch.directory("secret")
        scratch.file("secret/inside-secret")
    }

    @Test(
        "dots that lead above the root are refused, wherever they stand",
        arguments: [
            "..", "../secret", "sub/../..", "sub/../../secret", "../fence", "./../secret", "sub/./../../secret/",
        ])
    func dots(path: String) {
        #expect(throws: WorkspaceError.escapes(path)) { try workspace.list(path) }
    }

    @Test("absolute paths are refused, also the root's own", arguments: ["/", "/etc", "//etc"])
    func absolute(path: String) {
        #expect(throws: WorkspaceError.absolutePath(path)) { try workspace.list(path) }
        #expect(throws: WorkspaceError.absolutePath(scratch("fence"))) { try workspace.list(scratch("fence")) }
    }

    @Test(
        "links that leave the root are refused as a path and shown as nothing",
        arguments: ["../secret", "/", "/etc", "/proc/self/cwd", "sub/../../secret", "../fence-of-another-name"])
    func linksOut(target: String) throws {
        scratch.link("fence/way-out", to: target)
        #expect(throws: WorkspaceError.escapes("way-out")) { try workspace.list("way-out") }
        #expect(throws: WorkspaceError.escapes("way-out/x")) { try workspace.list("way-out/x") }
        let shown = try #require(try workspace.list("").entries.first { $0.name == "way-out" })
        #expect(!shown.isDirectory && shown.size == nil)
    }

    @Test("an absolute link beside the root whose name begins with the root's is outside")
    func prefixSibling() {
        scratch.directory("fence-too")
        scratch.link("fence/sibling", to: scratch("fence-too"))
        scratch.link("fence/back", to: scratch("fence/../secret"))
        #expect(throws: WorkspaceError.escapes("sibling")) { try workspace.list("sibling") }
        #expect(throws: WorkspaceError.escapes("back")) { try workspace.list("back") }
    }

    @Test("a chain of links is followed to its end, and judged there")
    func chains() throws {
        scratch.link("fence/one", to: "sub/two")
        scratch.link("fence/sub/two", to: "../three")
        scratch.link("fence/three", to: "sub")
        #expect(try workspace.list("one").path == "sub")
        scratch.link("fence/four", to: "five")
        scratch.link("fence/five", to: "../secret")
        #expect(throws: WorkspaceError.escapes("four")) { try workspace.list("four") }
    }

    @Test("forty links are followed, the forty-first ends the walk, and so does a loop")
    func linkBound() throws {
        scratch.link("fence/l1", to: "sub")
        for number in 2...(ConfinedWalk.maxLinks + 1) { scratch.link("fence/l\(number)", to: "l\(number - 1)") }
        #expect(try workspace.list("l\(ConfinedWalk.maxLinks)").path == "sub")
        #expect(throws: WorkspaceError.pathTooLong) { try workspace.list("l\(ConfinedWalk.maxLinks + 1)") }
        scratch.link("fence/loop", to: "loop")
        #expect(throws: WorkspaceError.pathTooLong) { try workspace.list("loop") }
    }

    @Test("links that multiply a path end at the step bound")
    func stepBound() throws {
        let dots = String(repeating: "./../fan/", count: 400)
        scratch.directory("fence/fan")
        scratch.link("fence/fan/a", to: dots)
        scratch.link("fence/fan/b", to: String(repeating: "a/", count: 30))
        #expect(try workspace.list("fan/a").path == "fan")
        #expect(throws: WorkspaceError.pathTooLong) { try workspace.list("fan/b") }
    }

    @Test("a tree is walked 128 deep and no deeper")
    func deepTree() throws {
        let path = Array(repeating: "d", count: ConfinedWalk.maxDepth).joined(separator: "/")
        scratch.deepTree("fence", levels: 2_500)
        #expect(try workspace.list(path).entries.map(\.name) == ["d"])
        #expect(throws: WorkspaceError.pathTooLong) { try workspace.list(path + "/d") }
    }

    @Test("paths of 4,096 bytes are looked at, longer ones and zero bytes are not")
    func pathLength() {
        let longest = String(repeating: "/a", count: 2_048).dropFirst() + "b"
        #expect(throws: WorkspaceError.unusable(path: String(longest), reason: "no such file or directory")) {
            try workspace.list(String(longest))
        }
        #expect(throws: WorkspaceError.pathTooLong) { try workspace.list(longest + "c") }
        #expect(throws: WorkspaceError.unusable(path: "", reason: "the path contains a zero byte")) {
            try workspace.list("sub\u{0}/../..")
        }
    }

    @Test("the links of the process file system lead nowhere")
    func magicLinks() throws {
        let process = Workspace(cwd: "/proc/self")
        #expect(throws: WorkspaceError.escapes("root")) { try process.list("root") }
        #expect(throws: WorkspaceError.escapes("cwd")) { try process.list("cwd") }
        let entry = try #require(try process.list("").entries.first { $0.name == "exe" })
        #expect(!entry.isDirectory && entry.size == nil)
    }

    @Test("a root that is itself reached through links works, and its absolute links too")
    func linkedRoot() throws {
        scratch.link("alias", to: "fence")
        scratch.link("fence/again", to: scratch("fence/sub"))
        #expect(try Workspace(cwd: scratch("alias")).list("again").path == "sub")
    }

    @Test("a directory that another process keeps swapping for a link out never shows the outside")
    func swappedLink() async throws {
        scratch.directory("fence/target")
        scratch.file("fence/target/fine")
        scratch.link("fence/spare", to: "../secret")
        let swaps = Swapper(scratch("fence/target"), scratch("fence/spare"))
        let seen = await withTaskGroup(of: Set<String>.self) { group in
            group.addTask { swaps.run() }
            group.addTask {
                defer { swaps.stop() }
                var seen: Set<String> = []
                for _ in 0..<20_000 {
                    do {
                        seen.formUnion(try workspace.list("target").entries.map(\.name))
                    } catch {
                        seen.insert("\(error)")
                    }
                }
                return seen
            }
            return await group.reduce(into: Set<String>()) { $0.formUnion($1) }
        }
        // The third is what stands there between two renames.
        let allowed: Set = ["fine", "path escapes workspace: target", "no such file or directory: target"]
        #expect(seen.isSubset(of: allowed), "\(seen.subtracting(allowed))")
        #expect(seen.isSuperset(of: ["fine"]))
    }
}
