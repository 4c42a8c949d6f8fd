import Glibc
import MewBase
import MewIdentity
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// The real program, `mew daemon`, in a process that a test may kill.
final class DaemonProcess: Sendable {
    /// Reads and waits here may block.
    private let loop: BlockingLoop
    private let number: pid_t
    private let output: Descriptor

    /// The executable that was built beside this test.
    static var path: String? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return nil }
        let test = String(decoding: buffer[..<count], as: UTF8.self)
        guard let slash = test.lastIndex(of: "/") else { return nil }
        let path = test[..<slash] + "/mew"
        return access(String(path), X_OK) == 0 ? String(path) : nil
    }

    /// What is waited for at a start.
    enum Sight: Sendable {
        /// Nothing but the process.
        case process
        /// A file of its state directory, which must not be there before.
        case file(String)
        /// It says that it is ready.
        case ready
    }

    /// What is started: the daemon that people start, or the one whose agent asks and tells what it is told to.
    enum Program: String, Sendable { case daemon, bench = "bench desk" }

    /// Starts a daemon; returns when `sight` is there.
    init(
        _ program: Program = .daemon, home: String, userHome: String, until sight: Sight = .ready
    ) async throws {
        loop = try BlockingLoop(name: "process")
        let path = try #require(Self.path, "the program mew was not built")
        // Nobody else who is started meanwhile gets an end of it: the output would never be over.
        let pipe = try Pipe()
        output = pipe.reader
        number = try Self.spawn(
            [path] + program.rawValue.split(separator: " ").map(String.init)
                + ["--home", home, "--bind", "127.0.0.1:0"],
            environment: ["HOME=\(userHome)", "PATH=/usr/bin:/bin"], output: pipe.writer.number)
        switch sight {
        case .process: break
        case .file(let name): try await wait(forFile: home + "/" + name)
        case .ready: try await waitUntilReady()
        }
    }

    /// A file that appears wakes nobody: it is looked for, as fast as that goes.
    private func wait(forFile path: String) async throws {
        let isThere = await blocking { [number] in
            let limit = ContinuousClock.now + .seconds(30)
            while access(path, F_OK) != 0 {
                guard waitpid(number, nil, WNOHANG) == 0, ContinuousClock.now < limit else { return false }
            }
            return true
        }
        try #require(isThere, "the daemon did not make \(path)")
    }

    private static func spawn(_ arguments: [String], environment: [String], output: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var words = arguments.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for word in words + variables { free(word) } }
        var number: pid_t = 0
        try #require(posix_spawn(&number, arguments[0], &actions, nil, &words, &variables) == 0)
        return number
    }

    private func waitUntilReady() async throws {
        let said = await blocking { [output] in
            var text = ""
            var block = [UInt8](repeating: 0, count: 256)
            while !text.contains("mew-node-id:") || !text.hasSuffix("\n") {
                let count = read(output.number, &block, block.count)
                guard count > 0 else { break }
                text += String(decoding: block[..<count], as: UTF8.self)
            }
            return text
        }
        try #require(said.contains("mew-node-id:"), "the daemon did not start: \(said)")
    }

    /// `kill -9`; returns when the process is gone.
    func kill() async {
        Glibc.kill(number, SIGKILL)
        await wait()
    }

    /// As a service manager would; returns how it ended.
    @discardableResult
    func terminate() async -> Int32 {
        Glibc.kill(number, SIGTERM)
        return await wait()
    }

    @discardableResult
    private func wait() async -> Int32 {
        let status = await blocking { [number] in
            var status: Int32 = 0
            waitpid(number, &status, 0)
            return status
        }
        loop.stop()
        return status
    }

    private func blocking<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { done in
            loop.post { done.resume(returning: body()) }
        }
    }

    /// Living processes whose command line holds `marker`.
    static func survivors(_ marker: String) -> [Int32] {
        guard let directory = opendir("/proc") else { return [] }
        defer { closedir(directory) }
        var found: [Int32] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let number = Int32(name), number != getpid(), commandLine(number).contains(marker) else { continue }
            found.append(number)
        }
        return found
    }

    private static func commandLine(_ number: Int32) -> String {
        let file = open("/proc/\(number)/cmdline", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = read(file, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : ""
    }
}
