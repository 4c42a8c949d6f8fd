import Glibc
import MewLoop
import MewTestSupport
import Testing

@testable import mew

/// A file system of a few hundred kilobytes in a mount namespace of its own (unshare(1)): nobody else sees it, and it goes with
/// the last process in there.
final class SmallDisk: Sendable {
    let path: String
    /// Starts a program in the namespace.
    let prefix: [String]
    private let scratch = ScratchDirectory()
    private let keeper: RealProcess
    /// While it is open the keeper waits, so that it ends even when this process is killed.
    private let life: Pipe

    init(kibibytes: Int) async throws {
        path = scratch.directory("disk")
        life = try Pipe()
        // Whoever is not root is root in a user namespace of its own.
        let isRoot = geteuid() == 0
        keeper = try RealProcess(
            ["unshare", isRoot ? "-m" : "-rm", "sh", "-c"] + [
                "mount -t tmpfs -o size=\(kibibytes)k,mode=0700 tmpfs \"$1\" && echo mounted && exec cat", "sh", path,
            ], input: life.reader.number)
        prefix = ["nsenter", "-t", "\(keeper.number)", "-m"] + (isRoot ? [] : ["-U", "--preserve-credentials"])
        try #require(await keeper.out.line(containing: "mounted") != nil, "\(keeper.err.text)")
    }

    /// Runs a line of shell in the directory of the disk.
    func run(_ line: String) async throws {
        let shell = try RealProcess(prefix + ["sh", "-ec", "cd \"$1\"; \(line)", "sh", path])
        #expect(await shell.exit == 0, "\(line): \(shell.err.text)")
    }

    /// Until not a byte more fits.
    func fill() async throws { try await run("dd if=/dev/zero of=filler bs=4k 2>/dev/null || test -s filler") }
    func makeRoom() async throws { try await run("rm filler") }
    func makeReadOnly() async throws { try await run("mount -o remount,ro .") }
}
