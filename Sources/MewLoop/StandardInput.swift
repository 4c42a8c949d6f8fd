internal import CSys
internal import Glibc

/// What a person types, or a file or pipe in its place, line by line.
///
/// The descriptor is not made non-blocking: it is shared with the shell, which would find it so. One reader at a time.
package actor StandardInput {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: EventLoop
    private let descriptor: Int32
    private var buffer = LineBuffer()
    private var isAtEnd = false
    /// Why nothing more can be read.
    private var failure: StreamError?
    private var watch: DescriptorWatch?
    private var reader: CheckedContinuation<Void, Never>?

    /// - Parameter descriptor: the standard input, unless a test has another one.
    package init(_ descriptor: Int32 = 0, on loop: EventLoop) {
        self.descriptor = descriptor
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    /// The next line without its line feed; nil at the end. What stands after the last line feed is a line too.
    package func readLine(maxBytes: Int) async throws(StreamError) -> [UInt8]? {
        while true {
            switch buffer.line(maxBytes: maxBytes) {
            case .line(let line): return line
            case .tooLong: throw .lineTooLong(maxBytes: maxBytes)
            case .needMore: break
            }
            guard try await more() else { return buffer.isEmpty ? nil : buffer.take(maxBytes: maxBytes) }
        }
    }

    /// Everything up to the end, line feeds included; nil when that is more than `maxBytes`.
    package func readAll(maxBytes: Int) async throws(StreamError) -> [UInt8]? {
        var all: [UInt8] = []
        while true {
            all += buffer.take(maxBytes: maxBytes + 1 - all.count)
            guard all.count <= maxBytes else { return nil }
            guard try await more() else { return all }
        }
    }

    /// Takes in what is there, or waits until something may be; false at the end.
    private func more() async throws(StreamError) -> Bool {
        guard !isAtEnd else { return false }
        if let failure { throw failure }
        guard !Task.isCancelled else { throw .cancelled }
        switch try buffer.fill(4_096, doing: "reading the input", { csys_shared_read(descriptor, $0, $1) }) {
        case .nothing: await readable()
        case .bytes: break
        case .end: isAtEnd = true
        }
        return true
    }

    private func readable() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                precondition(reader == nil, "the input has one reader at a time")
                guard !Task.isCancelled else { return continuation.resume() }
                reader = continuation
                startWatch()
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.wake() } }
        }
    }

    private func startWatch() {
        do throws(SystemError) {
            watch = try loop.watch(descriptor, for: .readable) { _ in self.assumeIsolated { $0.wake() } }
        } catch {
            // A plain file cannot be watched and is always ready.
            if error.errno != EPERM { failure = .system(error) }
            wake()
        }
    }

    private func wake() {
        if let watch { loop.unwatch(watch) }
        watch = nil
        let waiting = reader
        reader = nil
        waiting?.resume()
    }
}
