import Glibc
import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewSession
import MewStore
import MewTestSupport
import MewWire
import Testing

@testable import MewDaemon

/// A state directory with three paired devices, and the daemons that are started in it.
struct KillPlace: Sendable {
    static let deviceCount = 3

    private let scratch = ScratchDirectory()
    private let secrets = (0..<deviceCount).map { _ in SecretKey.generate(entropy: SystemEntropy()) }
    /// Stands in the command line of what the agent runs.
    let marker = "mew-kill-\(SystemEntropy().uint64())"

    init() async throws {
        scratch.directory("state")
        let loop = try BlockingLoop(name: "prepare")
        defer { loop.stop() }
        let store = try await open(on: loop)
        for secret in secrets {
            try await StoredDevices(store).save(DaemonBench.device(secret.node), dropping: nil)
        }
        await store.close()
    }

    private func open(on loop: BlockingLoop) async throws -> SQLiteStore {
        try await SQLiteStore.open(path: scratch("state/" + StateDirectory.Name.database), on: loop)
    }

    func start(
        _ program: DaemonProcess.Program = .daemon, until sight: DaemonProcess.Sight = .ready
    ) async throws -> DaemonProcess {
        // What the former daemon left would be taken for this one's.
        if case .file(let name) = sight { unlink(scratch("state/" + name)) }
        return try await DaemonProcess(program, home: scratch("state"), userHome: scratch.path, until: sight)
    }

    /// What the commands wrote: a line each time one ran.
    var runs: [String] {
        let home = try? PrivateDirectory(creating: scratch.path)
        let bytes = (try? home?.read("runs", maxBytes: 10_000)) ?? nil
        return bytes.map { String(decoding: $0, as: UTF8.self).split(separator: "\n").map(String.init) } ?? []
    }

    /// The journal, after the daemon has ended.
    func events(of session: SessionID) async throws -> [SequenceNumber: String] {
        let loop = try BlockingLoop(name: "look")
        defer { loop.stop() }
        let store = try await open(on: loop)
        let rows = try await store.events(of: session, after: .zero, limit: 100_000)
        await store.close()
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.sequence, String(decoding: $0.body, as: UTF8.self)) })
    }

    /// A connection of one of the devices to the daemon that is running.
    func connect(_ device: Int = 0) async throws -> KillConnection {
        let loop = try EventLoop(name: "client")
        do {
            let status = try await status(on: loop)
            let node = try await Node.start(
                .init(secret: secrets[device], addresses: [.loopback(port: 0)], accepts: []),
                network: KernelNetwork(), loop: loop, entropy: SystemEntropy())
            let target = DialTarget(node: status.node, addresses: status.addresses.compactMap { SocketAddress($0) })
            do {
                return KillConnection(peer: TestPeer(link: try await node.dial(target)), node: node, loop: loop)
            } catch {
                await node.stop()
                throw error
            }
        } catch {
            loop.stop()
            throw error
        }
    }

    private func status(on loop: EventLoop) async throws -> ControlStatus {
        let control = try StreamSocket.connect(to: scratch("state/" + StateDirectory.Name.controlSocket), on: loop)
        try await control.write(ControlRequest.status.json.utf8 + [10])
        guard let line = try await control.readLine(maxBytes: ControlRequest.maxLineBytes),
            case .status(let status)? = try ControlReply(JSON(parsing: line))
        else { throw ChannelError.finished }
        await control.close()
        return status
    }

    /// A client of one turn for the length of `body`; returned with what it saw.
    func dial(_ body: (inout KillClient) async throws -> Void) async throws -> KillClient {
        let connection = try await connect()
        // Ends early enough for the later points; the marker is an argument, so that it stands in the process table.
        let command = "echo ran >> runs; for i in 1 2 3 4; do echo line $i; sleep 0.05; done # \(marker)"
        var client = KillClient(peer: connection.peer, command: command)
        do {
            try await body(&client)
        } catch {
            await connection.end()
            throw error
        }
        await connection.end()
        return client
    }
}

/// A node of a device that is connected to the daemon.
struct KillConnection: Sendable {
    let peer: TestPeer
    fileprivate let node: Node
    fileprivate let loop: EventLoop

    fileprivate init(peer: TestPeer, node: Node, loop: EventLoop) {
        (self.peer, self.node, self.loop) = (peer, node, loop)
    }

    func end() async {
        await node.stop()
        loop.stop()
    }
}
