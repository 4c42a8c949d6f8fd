import MewLoop
import MewWire

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Where lines go: a file descriptor, or an array in tests.
protocol LineSink: Sendable {
    func write(_ text: String)
}

/// Writes at once and whole: a pipe that reads our events must see each when it happens.
struct DescriptorSink: LineSink {
    let descriptor: Int32

    static let standardOutput = DescriptorSink(descriptor: 1)
    static let standardError = DescriptorSink(descriptor: 2)

    func write(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Self.put(descriptor, $0) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if errno == EAGAIN || errno == EWOULDBLOCK {
                waitUntilWritable()
            } else if errno != EINTR {
                return gaveUp(errno)
            }
        }
    }

    /// Nobody can be told that standard error is gone, and it must change neither what the process does nor its exit code: a
    /// daemon outlives the reader of its log. Without standard output there is nothing left to do.
    private func gaveUp(_ error: Int32) {
        guard descriptor == Self.standardOutput.descriptor else { return }
        // Whoever read our output has enough (`mew watch | head`): what a shell reports for a process that died of SIGPIPE.
        if error == EPIPE { exit(Signal(number: SIGPIPE).exitStatus) }
        let failure = CommandFailure(
            .internal, "could not write to standard output: \(SystemError(errno: error, doing: "").reason)",
            hint: "Send it somewhere else.")
        Self.standardError.write(failure.sentence + "\n")
        exit(failure.exit.rawValue)
    }

    /// The terminal may have been made non-blocking by another process that shares it.
    private func waitUntilWritable() {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&entry, 1, -1)
    }

    private static func put(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
            Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        #else
            Darwin.write(descriptor, bytes.baseAddress, bytes.count)
        #endif
    }
}
