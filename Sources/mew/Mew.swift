import MewLoop

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@main
struct Mew {
    /// Not async: an async `main` runs on threads of the runtime that exist before its first line, and a signal goes to any
    /// thread that does not block it.
    static func main() {
        openClosedStreams()
        do throws(SystemError) {
            start(try SignalSource(blocking: Signals.caught), on: try EventLoop(name: "mew", spin: Spinning.usual))
        } catch {
            fail(error)
        }
        // The loop's thread ends the process. Every signal that could wake this one is blocked.
        while true { pause() }
    }

    /// A standard stream that whoever started us has closed: the next file we open would get its number, and our words would go
    /// into that file.
    private static func openClosedStreams() {
        // In this order each gets the number that is missing, because that is the lowest free one.
        for number: Int32 in 0...2 where fcntl(number, F_GETFD) < 0 { _ = open("/dev/null", O_RDWR) }
    }

    private static func start(_ signals: SignalSource, on loop: EventLoop) {
        let words = Array(CommandLine.arguments.dropFirst())
        loop.spawn {
            let runtime: Runtime
            do throws(SystemError) {
                runtime = try await Runtime(loop: loop, signals: signals, makeDialer: makeNodeDialer)
            } catch {
                fail(error)
            }
            let signals = runtime.signals
            signals.beforeEnd { await runtime.end() }
            let program = CommandLineProgram(
                commands: CommandList.all, environment: environment(), directory: currentDirectory(), runtime: runtime,
                standard: SinkUntilSignal(sink: DescriptorSink.standardOutput, signals: signals),
                errors: SinkUntilSignal(sink: DescriptorSink.standardError, signals: signals))
            let code = await program.run(words)
            // A signal ends the process by itself, once its goodbyes have left.
            guard signals.fatal == nil else { return }
            await runtime.end()
            exit(code.rawValue)
        }
    }

    private static func fail(_ error: SystemError) -> Never {
        DescriptorSink.standardError.write("mew: could not start: \(error).\n")
        exit(ExitCode.failed.rawValue)
    }

    private static func environment() -> [String: String] {
        var result: [String: String] = [:]
        for name in ["HOME", "MEW_HOME", "XDG_DATA_HOME"] {
            if let value = getenv(name) { result[name] = String(cString: value) }
        }
        return result
    }

    private static func currentDirectory() -> String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }
}
