internal import CSys
internal import Glibc

/// How a process ended.
package enum ProcessExit: Hashable, Sendable {
    case status(Int32)
    case signal(Int32)
}

/// A program that we started: leader of a session of its own, without a terminal, with default signal handlers and no
/// descriptor of ours but its three.
///
/// Whoever holds it reaps it: an exited child stays in the process table until `reap`. Touched by one isolation at a time.
package final class ChildProcess {
    package struct Program: Sendable {
        /// A path; not looked up in PATH.
        package var path: String
        /// The first one is the name the program sees.
        package var arguments: [String]
        /// `NAME=value` each.
        package var environment: [String]
        /// Nil: ours.
        package var directory: String?

        package init(path: String, arguments: [String], environment: [String], directory: String?) {
            (self.path, self.arguments, self.environment) = (path, arguments, environment)
            self.directory = directory
        }
    }

    package let identity: ProcessIdentity
    /// Becomes readable when the process has exited.
    package let descriptor: Descriptor

    /// - Parameters:
    ///   - input: what it reads; nil is an input without content.
    ///   - output: where both its output and its errors go; nil drops them.
    /// - Throws: also when the program cannot be executed or the directory cannot be entered.
    package init(_ program: Program, input: Descriptor?, output: Descriptor?) throws(SystemError) {
        var pid: Int32 = 0
        var pidfd: Int32 = -1
        let error = Self.withStrings(program.arguments) { arguments in
            Self.withStrings(program.environment) { environment in
                Self.start(program, arguments, environment, input?.number ?? -1, output?.number ?? -1, &pid, &pidfd)
            }
        }
        try check(error, "starting \(program.path)")
        descriptor = Descriptor(owning: pidfd)
        // It is our child and not reaped, so its number is still its own.
        guard let identity = ProcessIdentity(now: pid) else {
            _ = csys_pidfd_signal(pidfd, SIGKILL)
            Self.awaitEnd(pidfd)
            throw SystemError(errno: ESRCH, doing: "looking up the process \(pid)")
        }
        self.identity = identity
    }

    /// Reaps a process that was killed before it had an owner.
    private static func awaitEnd(_ pidfd: Int32) {
        var (wait, exit) = (pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0), csys_exit())
        _ = poll(&wait, 1, 1_000)
        _ = csys_reap(pidfd, &exit)
    }

    private static func start(
        _ program: Program, _ arguments: UnsafePointer<UnsafePointer<CChar>?>,
        _ environment: UnsafePointer<UnsafePointer<CChar>?>, _ input: Int32, _ output: Int32, _ pid: inout Int32,
        _ pidfd: inout Int32
    ) -> Int32 {
        program.path.withCString { path in
            func start(in directory: UnsafePointer<CChar>?) -> Int32 {
                var spawn = csys_spawn(
                    program: path, arguments: arguments, environment: environment, directory: directory, input: input,
                    output: output, errors: output, search: 0, new_session: 1, new_group: 0)
                return csys_spawn_start(&spawn, &pid, &pidfd)
            }
            guard let directory = program.directory else { return start(in: nil) }
            return directory.withCString { start(in: $0) }
        }
    }

    /// Calls `body` with the strings as C wants lists of them: zero-terminated, a null pointer at the end.
    private static func withStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return (copies.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { preconditionFailure("it holds at least the null pointer") }
            return body(start)
        }
    }

    /// How it ended, once it has; nil while it runs. Forgets the process: later calls give nil.
    package func reap() -> ProcessExit? {
        var exit = csys_exit()
        guard csys_reap(descriptor.number, &exit) == 0 else { return nil }
        return exit.by_signal != 0 ? .signal(Int32(exit.code)) : .status(Int32(exit.code))
    }
}
