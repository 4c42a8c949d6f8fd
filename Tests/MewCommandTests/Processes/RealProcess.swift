import Glibc
import MewLoop
import Synchronization
import Testing

@testable import mew

/// A program in a process of its own, with what it prints, line by line. Killed when nobody holds it any more.
final class RealProcess: Sendable {
    let out = LineCollector()
    let err = LineCollector()
    let number: pid_t
    private let loop: BlockingLoop
    private let status: Task<Int32, Never>
    /// From then on its number may be another's.
    private let isReaped: Flag

    private final class Flag: Sendable {
        let value = Atomic<Bool>(false)
    }

    /// - Parameters:
    ///   - arguments: the first one is the program, looked up in PATH unless it has a slash.
    ///   - input: what it reads; nil is an input without content.
    ///   - taker: gets what it prints in place of `out`.
    init(
        _ arguments: [String], environment: [String] = usualEnvironment, input: Int32? = nil,
        output taker: (any LineTaker)? = nil
    ) throws {
        let (output, errors) = (try Pipe(), try Pipe())
        let number = try Self.spawn(
            arguments, environment, input: input, output: output.writer.number, errors: errors.writer.number)
        let (out, err, isReaped) = (taker ?? out, err, Flag())
        let (readers, collectors): ([Descriptor], [any LineTaker]) = ([output.reader, errors.reader], [out, err])
        self.number = number
        self.isReaped = isReaped
        loop = try BlockingLoop(name: "process")
        status = loop.spawn {
            Self.collect(readers, into: collectors)
            var status: Int32 = 0
            waitpid(number, &status, 0)
            isReaped.value.store(true, ordering: .releasing)
            out.end()
            err.end()
            return status
        }
    }

    deinit {
        signal(SIGKILL)
        loop.stop()
    }

    static let usualEnvironment = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]

    /// `mew`, built beside this test.
    static var mew: String {
        get throws {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = readlink("/proc/self/exe", &buffer, buffer.count)
            let test = String(decoding: buffer[..<max(0, count)], as: UTF8.self)
            let path = test[..<(test.lastIndex(of: "/") ?? test.startIndex)] + "/mew"
            try #require(access(String(path), X_OK) == 0, "the program mew was not built")
            return String(path)
        }
    }

    /// As a shell reports it: the exit code, or 128 and the number of the signal. A test whose time is over kills it.
    var exit: Int32 {
        get async {
            let end = await withTaskCancellationHandler {
                await status.value
            } onCancel: {
                signal(SIGKILL)
            }
            return end & 0x7f == 0 ? end >> 8 & 0xff : 128 + end & 0x7f
        }
    }

    func signal(_ signal: Int32) {
        if !isReaped.value.load(ordering: .acquiring) { kill(number, signal) }
    }

    // MARK: - Starting and reading

    private static func spawn(
        _ arguments: [String], _ environment: [String], input: Int32?, output: Int32, errors: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, errors, 2)
        var words = arguments.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for word in words + variables { free(word) } }
        var number: pid_t = 0
        try #require(posix_spawnp(&number, arguments[0], &actions, nil, &words, &variables) == 0, "\(arguments[0])")
        return number
    }

    /// Both ends until nobody can write to them any more, in whole lines: a block may end inside a character.
    private static func collect(_ readers: [Descriptor], into collectors: [any LineTaker]) {
        var rests: [[UInt8]] = readers.map { _ in [] }
        var entries = readers.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
        var block = [UInt8](repeating: 0, count: 65_536)
        while entries.contains(where: { $0.fd >= 0 }), poll(&entries, nfds_t(entries.count), -1) >= 0 || errno == EINTR
        {
            for index in entries.indices where entries[index].revents != 0 {
                let count = read(entries[index].fd, &block, block.count)
                if count > 0 {
                    // A terminal ends lines with CR LF, which Swift takes for one character that is no line break.
                    rests[index] += block[..<count].filter { $0 != UInt8(ascii: "\r") }
                    let end = rests[index].lastIndex(of: 10).map { $0 + 1 } ?? 0
                    collectors[index].write(String(decoding: rests[index][..<end], as: UTF8.self))
                    rests[index].removeFirst(end)
                } else {
                    collectors[index].write(String(decoding: rests[index], as: UTF8.self))
                    entries[index].fd = -1
                }
            }
        }
    }
}

/// Takes what a process prints, in whole lines, and hears the end of it.
protocol LineTaker: LineSink {
    func end()
}

extension LineCollector: LineTaker {}
