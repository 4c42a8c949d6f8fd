import Glibc
import MewLoop
import MewTestSupport
import MewWire
import Testing

@testable import mew

/// One machine with its state directory, on which every command is a process of the real program, as from a shell.
struct RealMachine: Sendable {
    let home: String
    /// Where commands run: `nsenter …` and the like.
    let prefix: [String]
    private let scratch: ScratchDirectory?

    /// A state directory of its own, which does not exist yet.
    init() {
        let scratch = ScratchDirectory()
        self.init(home: scratch("state"), scratch: scratch)
    }

    /// With something at `home` already.
    init(at home: String) {
        self.init(home: home)
    }

    /// On a small disk.
    init(on disk: SmallDisk, _ name: String = "state") {
        self.init(home: disk.path + "/" + name, prefix: disk.prefix)
    }

    private init(home: String, prefix: [String] = [], scratch: ScratchDirectory? = nil) {
        (self.home, self.prefix, self.scratch) = (home, prefix, scratch)
    }

    /// The same machine, with commands started by `more`.
    func started(by more: [String]) -> RealMachine {
        RealMachine(home: home, prefix: prefix + more, scratch: scratch)
    }

    /// Puts a file into the state directory, which is made when there is none.
    func write(_ bytes: [UInt8], to name: String) throws {
        mkdir(home, 0o700)
        try write(bytes, toPath: "\(home)/\(name)")
    }

    /// Puts a file anywhere.
    func write(_ bytes: [UInt8], toPath path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        try #require(Glibc.write(file, bytes, bytes.count) == bytes.count)
    }

    func start(
        _ words: [String], input: Descriptor? = nil, output: (any LineTaker)? = nil
    ) throws -> RealProcess {
        let home = words.contains("--home") ? [] : ["--home", self.home]
        return try RealProcess(
            prefix + [try RealProcess.mew] + home + words,
            environment: RealProcess.usualEnvironment + ["HOME=" + (scratch?.path ?? "/")], input: input?.number,
            output: output)
    }

    struct Result {
        let exit: Int32
        let out: String
        let err: String

        var outLines: [String] { out.split(separator: "\n").map(String.init) }
        var errLines: [String] { err.split(separator: "\n").map(String.init) }
        var objects: [JSON] { outLines.compactMap { try? JSON(parsing: $0) } }
    }

    /// On a terminal of its own (script(1)): what a person would see is in `out`.
    func startOnTerminal(_ words: [String], keyboard: Descriptor) throws -> RealProcess {
        let command = prefix + [try RealProcess.mew, "--home", home] + words
        return try RealProcess(
            ["script", "-qec", command.map(shellQuoted).joined(separator: " "), "/dev/null"],
            environment: RealProcess.usualEnvironment + ["HOME=/", "SHELL=/bin/sh"], input: keyboard.number)
    }

    @discardableResult
    func run(_ words: String...) async throws -> Result { try await run(words) }

    @discardableResult
    func run(_ words: [String]) async throws -> Result {
        try await Result(of: start(words))
    }
}

extension RealMachine.Result {
    /// When it has ended.
    init(of process: RealProcess) async {
        exit = await process.exit
        (out, err) = (process.out.text, process.err.text)
    }
}

/// A daemon in a process, on loopback unless a test says where, and what has to be known to reach it.
struct RealDaemon: Sendable {
    let machine: RealMachine
    let process: RealProcess
    let node: String
    let address: String

    init(
        _ machine: RealMachine = RealMachine(), host: String = "127.0.0.1", port: String = "0", _ options: [String] = []
    ) async throws {
        self.machine = machine
        process = try machine.start(
            ["daemon", "--bind", host + ":" + port, "--name", "desk"]
                + (options.contains("--log-level") ? [] : ["--log-level", "error"]) + options)
        let line = await process.out.line(containing: "mew-node-id:")
        node = String(try #require(line, "the daemon did not start: \(process.err.text)").dropFirst(12))
        let status = try await machine.run("status", "--json")
        address = try #require(status.objects.first?["addrs"]?.asArray?.first?.asString, "\(status.err)")
    }

    /// `mew pair` here, `mew add` there.
    ///
    /// - Returns: the payload, which is spent.
    @discardableResult
    func introduce(_ device: RealMachine, as name: String = "desk") async throws -> String {
        let window = try await PairingWindowProcess(machine)
        let added = try await device.run("add", window.payload, "--name", name)
        try #require(added.exit == 0, "\(added.err)")
        #expect(await window.process.exit == 0)
        return window.payload
    }

    /// Ends it as a service manager would; it must drain and exit 0.
    func stop() async {
        process.signal(SIGTERM)
        #expect(await process.exit == 0, "\(process.err.text)")
    }
}

/// `mew pair` while its window is open.
struct PairingWindowProcess: Sendable {
    let process: RealProcess
    let payload: String

    init(_ machine: RealMachine, seconds: Int = 60) async throws {
        process = try machine.start(["pair", "--json", "--timeout", "\(seconds)"])
        let line = await process.out.line(containing: "\"window\"")
        let window = try JSON(parsing: try #require(line, "\(process.err.text)"))
        payload = try #require(window["payload"]?.asString)
    }
}
