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
                // Whoever read our output has gone (`mew watch | head`): nothing is left to do for it.
                exit(descriptor == 1 ? ExitCode.failed.rawValue : 0)
            }
        }
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
