import MewBase
import MewClient
import MewDaemon
import MewIdentity
import MewLoop
import MewNode
import MewRelay
import MewSession
import MewWire

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What the command line can say about a daemon.
struct DaemonOptions: Sendable {
    var bind: [SocketAddress] = []
    /// Empty for those of `config.json`.
    var relays: [RelayURL] = []
    var relayToken: String?
    /// A file.
    var relayTrust: String?
    /// Nil for what `config.json` says.
    var mapsPort: Bool?
    var name: String?
    var agents: [String] = []
    /// Those of measurements, which live on the daemon's loops.
    var extraAgents: @Sendable (DaemonProgram.Loops) -> [any AgentBackend] = { _ in [] }
    /// When something starts it again after SIGTERM; nil when nobody promised that.
    var backIn: Duration?
    var logsJSON = false
    var level = Diagnostic.Level.info
}

/// A daemon inside this process, from its start to its drained end.
///
/// The first SIGINT, SIGTERM or SIGHUP ends it in order, the second at once.
struct DaemonRun: Sendable {
    private let context: CommandContext
    private let options: DaemonOptions

    init(_ context: CommandContext, _ options: DaemonOptions) {
        (self.context, self.options) = (context, options)
    }

    /// Starts the daemon and serves until a signal.
    ///
    /// - Parameter beside: runs once the daemon serves. When it fails, the daemon ends with its failure; when it is done, the
    ///   daemon serves on, and its exit code is that of the command.
    func run(
        beside: @escaping @Sendable (DaemonReadiness) async throws(CommandFailure) -> ExitCode
    ) async throws(CommandFailure) -> ExitCode {
        let loops: DaemonProgram.Loops
        do throws(SystemError) {
            loops = try DaemonProgram.Loops()
        } catch {
            throw CommandFailure(.internal, "could not start the daemon: \(error)")
        }
        defer { loops.stop() }
        let program = try await start(loops)
        // Before anybody is told that it runs: who reads that may end it at once.
        listen(program)
        let result = await withTaskGroup(of: Result<ExitCode, CommandFailure>?.self) { group in
            group.addTask {
                await program.run()
                return nil
            }
            group.addTask {
                do throws(CommandFailure) {
                    return .success(try await beside(program.readiness))
                } catch {
                    program.stop()
                    return .failure(error)
                }
            }
            var result: Result<ExitCode, CommandFailure>?
            for await next in group { result = result ?? next }
            context.runtime.signals.listen(nil)
            return result
        }
        return try result?.get() ?? .ok
    }

    private func listen(_ program: DaemonProgram) {
        let (isStopping, backIn) = (Once(), options.backIn)
        context.runtime.signals.listen { signal in
            guard isStopping.first() else { exit(ExitCode.failed.rawValue) }
            // Who ends us does not say what comes next, neither with a signal nor in the environment (systemd stops and restarts
            // alike). Only whoever wrote the command line knows, and Ctrl-C is a person who has had enough all the same.
            program.stop(backIn: signal == .terminate ? backIn : nil)
        }
    }

    private func start(_ loops: DaemonProgram.Loops) async throws(CommandFailure) -> DaemonProgram {
        let log = context.makeLog(options.level, isJSON: options.logsJSON)
        var configuration = try configuration()
        configuration.extraAgents = options.extraAgents(loops)
        do throws(StartFailure) {
            return try await DaemonProgram.start(configuration, on: loops, diagnostics: log)
        } catch {
            throw CommandFailure(error)
        }
    }

    private func configuration() throws(CommandFailure) -> DaemonConfiguration {
        let file = try ConfigurationFile.read(in: try context.stateDirectory().files)
        let use = try RelayUse(
            .init(relays: options.relays, token: options.relayToken, trust: options.relayTrust), file: file)
        var configuration = DaemonConfiguration(
            directory: context.home, bind: options.bind, relays: use.relays, relayToken: use.credential,
            relayTrust: try use.loadTrust(), name: options.name?.printableName ?? HostName.current,
            version: CommandLineProgram.version, agents: options.agents, userHome: Self.userHome,
            environment: Self.environment)
        configuration.mapsPort = options.mapsPort ?? file.mapsPort ?? true
        return configuration
    }

    /// Agents get the environment the daemon was started with.
    private static var environment: [String] {
        var result: [String] = []
        var entry = environ
        while let text = entry.pointee {
            result.append(String(cString: text))
            entry = entry.advanced(by: 1)
        }
        return result
    }

    private static var userHome: String {
        if let home = getenv("HOME"), home.pointee == CChar(bitPattern: UInt8(ascii: "/")) {
            return String(cString: home)
        }
        guard let entry = getpwuid(getuid()), let home = entry.pointee.pw_dir else { return "/" }
        return String(cString: home)
    }
}
