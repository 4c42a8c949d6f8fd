internal import CSys
internal import Glibc

/// Why a stream gives or takes no more.
package enum StreamError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A line was longer than the reader accepts. Nothing more can be read: where the next one begins is unknown.
    case lineTooLong(maxBytes: Int)
    /// We closed it.
    case closed
    case cancelled
    /// The other end is gone, or the kernel refused.
    case system(SystemError)

    package var description: String {
        switch self {
        case .lineTooLong(let maxBytes): "a line was longer than \(maxBytes) bytes"
        case .closed: "the connection was closed"
        case .cancelled: "cancelled"
        case .system(let error): error.description
        }
    }
}

/// Who is at the other end of a Unix socket, as the kernel knows it.
package struct PeerCredentials: Hashable, Sendable {
    package let process: Int32
    package let user: UInt32

    /// The same user as ours, or the superuser, who could read everything anyway.
    package var isTrusted: Bool { user == csys_effective_user() || user == 0 }
}

/// A connected byte stream of one loop: a Unix socket, and whatever else is a socket and a stream.
///
/// Nothing is read that nobody asked for, and `write` returns when the kernel has all of it: back-pressure reaches the
/// other end. One reader and any number of writers at a time; what one of them writes stays together. The kernel is asked
/// to watch the socket once somebody waits, and told to stop when it reports what nobody waits for: most waits follow one
/// another, and each change costs as much as a read.
package actor StreamSocket {
    private struct Writer {
        let number: UInt64
        let bytes: [UInt8]
        var sent = 0
        /// Nil when its task was cancelled after the first byte had left.
        var continuation: CheckedContinuation<Result<Void, StreamError>, Never>?
    }

    package nonisolated let unownedExecutor: UnownedSerialExecutor
    /// Nil when it is no Unix socket.
    package nonisolated let peer: PeerCredentials?

    private let loop: EventLoop
    private var descriptor: Int32
    private var watch: DescriptorWatch?
    private var interest: Readiness = []
    private var buffer = LineBuffer()
    private var isAtEnd = false
    /// Why it cannot be waited for any more.
    private var failure: StreamError?
    private var reader: CheckedContinuation<Void, Never>?
    private var writers: [Writer] = []
    /// Who writes an output, while the kernel takes nothing.
    private var pourer: CheckedContinuation<Void, Never>?
    private var writerNumber: UInt64 = 0
    private var finishes = false
    /// Nil for a Unix socket, whose reader is on this machine.
    private var unsent: UnsentBound?

    /// Read at once at most: by a reader of lines, and by one of bytes.
    private static let blockBytes = 16 << 10
    private static let largestBlockBytes = 64 << 10

    /// - Parameter descriptor: connected and non-blocking; nobody else closes it.
    init(owning descriptor: Int32, on loop: EventLoop) {
        self.descriptor = descriptor
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
        var peer = csys_peer()
        let isKnown = csys_unix_peer(descriptor, &peer) == 0
        self.peer = isKnown ? PeerCredentials(process: peer.pid, user: peer.uid) : nil
        unsent = isKnown ? nil : UnsentBound()
    }

    deinit {
        if descriptor >= 0 { csys_close(descriptor) }
    }

    /// Connects to who listens at `path`.
    package static func connect(to path: String, on loop: EventLoop) throws(SystemError) -> StreamSocket {
        StreamSocket(owning: try checked(csys_unix_connect(path), "connecting to \(path)"), on: loop)
    }

    /// Two ends that are connected to each other.
    package static func pair(on loop: EventLoop) throws(SystemError) -> (StreamSocket, StreamSocket) {
        var (one, other): (Int32, Int32) = (-1, -1)
        try check(csys_unix_pair(&one, &other), "making a pair of sockets")
        return (StreamSocket(owning: one, on: loop), StreamSocket(owning: other, on: loop))
    }

    // MARK: - Reading

    /// The next bytes, at most `maxBytes`; nil at the end.
    package func read(maxBytes: Int) async throws(StreamError) -> [UInt8]? {
        precondition(maxBytes > 0, "reading nothing looks like an end")
        guard buffer.isEmpty else { return buffer.take(maxBytes: maxBytes) }
        while true {
            guard try isGoingOn() else { return nil }
            var count: Int64 = 0
            let block = [UInt8](unsafeUninitializedCapacity: min(maxBytes, Self.largestBlockBytes)) { target, length in
                count = csys_stream_read(descriptor, target.baseAddress, target.count)
                length = max(0, Int(count))
            }
            if count > 0 { return block }
            if count == 0 {
                isAtEnd = true
            } else if count == -Int64(EAGAIN) {
                await readable()
            } else {
                throw .system(SystemError(errno: Int32(-count), doing: "reading from a socket"))
            }
        }
    }

    /// Reads once into `input`, waiting until there is something; false at the end. Between two reads other descriptors of
    /// the loop have their turn, and what the bytes lead to leaves. Not to be mixed with `readLine`.
    package func read(into input: any StreamInput) async throws(StreamError) -> Bool {
        while true {
            guard try isGoingOn() else { return false }
            await readable()
            guard try isGoingOn() else { return false }
            var count: Int64 = 0
            input.fill { room in
                count = csys_stream_read(descriptor, room.baseAddress, room.count)
                return max(0, Int(count))
            }
            if count > 0 { return true }
            if count == 0 {
                isAtEnd = true
            } else if count != -Int64(EAGAIN) {
                throw .system(SystemError(errno: Int32(-count), doing: "reading from a socket"))
            }
        }
    }

    /// False at the end; throws when nothing more can be read for another reason.
    private func isGoingOn() throws(StreamError) -> Bool {
        guard descriptor >= 0 else { throw .closed }
        guard !isAtEnd else { return false }
        if let failure { throw failure }
        guard !Task.isCancelled else { throw .cancelled }
        return true
    }

    /// The next line without its line feed; nil at the end. What stands after the last line feed is a line too.
    package func readLine(maxBytes: Int) async throws(StreamError) -> [UInt8]? {
        while true {
            switch buffer.line(maxBytes: maxBytes) {
            case .line(let line): return line
            case .tooLong: throw .lineTooLong(maxBytes: maxBytes)
            case .needMore: break
            }
            guard try await fill() else { return buffer.isEmpty ? nil : buffer.take(maxBytes: maxBytes) }
        }
    }

    /// Reads one block, waiting for it; false at the end.
    private func fill() async throws(StreamError) -> Bool {
        while true {
            guard try isGoingOn() else { return false }
            let filled = try buffer.fill(Self.blockBytes, doing: "reading from a socket") {
                csys_stream_read(descriptor, $0, $1)
            }
            switch filled {
            case .nothing: await readable()
            case .bytes: return true
            case .end: isAtEnd = true
            }
        }
    }

    /// Returns when it is worth trying again: readable, closed or cancelled.
    private func readable() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                precondition(reader == nil, "a stream has one reader at a time")
                guard descriptor >= 0, !Task.isCancelled else { return continuation.resume() }
                reader = continuation
                updateWatch()
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.wakeReader() } }
        }
    }

    private func wakeReader() {
        let waiting = reader
        reader = nil
        waiting?.resume()
    }

    // MARK: - Writing

    /// Returns when the kernel has taken all of it. A task that is cancelled stops waiting; its bytes still leave whole if
    /// the first of them has.
    package func write(_ bytes: [UInt8]) async throws(StreamError) {
        guard !bytes.isEmpty else { return }
        writerNumber += 1
        let number = writerNumber
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, StreamError>, Never>) in
                guard descriptor >= 0, !finishes else { return continuation.resume(returning: .failure(.closed)) }
                if let failure { return continuation.resume(returning: .failure(failure)) }
                guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
                writers.append(Writer(number: number, bytes: bytes, continuation: continuation))
                if writers.count == 1 { pump() }
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.cancelWriter(number) } }
        }
        try result.get()
    }

    private func cancelWriter(_ number: UInt64) {
        guard let index = writers.firstIndex(where: { $0.number == number }) else { return }
        let waiting = writers[index].continuation
        writers[index].continuation = nil
        if writers[index].sent == 0 { writers.remove(at: index) }
        waiting?.resume(returning: .failure(.cancelled))
        settleWriters()
    }

    private func pump() {
        while let writer = writers.first {
            let left = writer.bytes.count - writer.sent
            let count = writer.bytes.withUnsafeBytes { hand($0[writer.sent...]) }
            if count < left { unsent?.reached(descriptor, now: loop.now) }
            if count == -Int64(EAGAIN) { break }
            guard count >= 0 else {
                return failWriters(.system(SystemError(errno: Int32(-count), doing: "writing to a socket")))
            }
            writers[0].sent += Int(count)
            guard writers[0].sent == writer.bytes.count else { continue }
            writers.removeFirst()
            writer.continuation?.resume(returning: .success(()))
        }
        settleWriters()
    }

    /// What the kernel took, or minus an errno value.
    private func hand(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int64 {
        let bytes = UnsafeRawBufferPointer(rebasing: bytes)
        let offered = min(bytes.count, unsent?.room(descriptor) ?? .max)
        return offered > 0 ? csys_stream_write(descriptor, bytes.baseAddress, offered) : -Int64(EAGAIN)
    }

    /// Writes what `output` has, as the kernel takes it, and returns when it has no more. What was offered and not taken when
    /// this throws has not left. One output at a time, and no other writer beside it.
    package func write(from output: any StreamOutput) async throws(StreamError) {
        while true {
            guard descriptor >= 0, !finishes else { throw .closed }
            if let failure { throw failure }
            guard !Task.isCancelled else { throw .cancelled }
            if writers.isEmpty {
                let bytes = output.next(atMost: .max)
                if bytes.isEmpty { return }
                let count = hand(bytes[...])
                if count > 0 { output.left(Int(count)) }
                if count == Int64(bytes.count) { continue }
                unsent?.reached(descriptor, now: loop.now)
                guard count >= 0 || count == -Int64(EAGAIN) else {
                    throw .system(SystemError(errno: Int32(-count), doing: "writing to a socket"))
                }
            }
            await writable()
        }
    }

    private func writable() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                precondition(pourer == nil, "a stream has one output at a time")
                guard descriptor >= 0, failure == nil, !Task.isCancelled else { return continuation.resume() }
                pourer = continuation
                updateWatch()
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.wakePourer() } }
        }
    }

    private func wakePourer() {
        let waiting = pourer
        pourer = nil
        waiting?.resume()
    }

    private func settleWriters() {
        if writers.isEmpty, finishes, descriptor >= 0 { csys_stream_finish(descriptor) }
        updateWatch()
    }

    private func failWriters(_ error: StreamError) {
        let failed = writers
        writers = []
        for writer in failed { writer.continuation?.resume(returning: .failure(error)) }
        settleWriters()
    }

    /// Writes what the kernel takes now; nothing while others write. For a goodbye that nobody waits for.
    package func writeAtOnce(_ bytes: [UInt8]) {
        guard descriptor >= 0, failure == nil, writers.isEmpty, !finishes else { return }
        // Whether it was all of it is of no interest to whoever closes now.
        _ = bytes.withUnsafeBytes { csys_stream_write(descriptor, $0.baseAddress, $0.count) }
    }

    // MARK: - Ending

    /// Ends our direction after what was written; reading goes on. Idempotent.
    package func finish() {
        guard !finishes else { return }
        finishes = true
        settleWriters()
    }

    /// Ends both directions; who waits gets `closed`. Idempotent.
    package func close() {
        guard descriptor >= 0 else { return }
        forgetWatch()
        csys_close(descriptor)
        descriptor = -1
        wakeReader()
        wakePourer()
        failWriters(.closed)
    }

    // MARK: - Watching

    private var wanted: Readiness {
        var wanted = Readiness()
        if reader != nil { wanted.insert(.readable) }
        if !writers.isEmpty || pourer != nil { wanted.insert(.writable) }
        return wanted
    }

    /// Asks for what is waited for and is not asked for yet.
    private func updateWatch() {
        let wanted = interest.union(wanted)
        guard wanted != interest, descriptor >= 0 else { return }
        interest = wanted
        if let watch {
            loop.change(watch, to: wanted)
        } else {
            startWatch(wanted)
        }
    }

    /// What was reported is waited for by nobody: it would be reported again in each turn.
    private func narrowWatch(to wanted: Readiness) {
        guard let watch, descriptor >= 0 else { return }
        if wanted.isEmpty { return forgetWatch() }
        interest = wanted
        loop.change(watch, to: wanted)
    }

    private func startWatch(_ wanted: Readiness) {
        do throws(SystemError) {
            watch = try loop.watch(descriptor, for: wanted) { readiness in
                self.assumeIsolated { $0.ready(readiness) }
            }
        } catch {
            // No memory for one more watch: give the stream up rather than wait for ever. All waits end before anybody
            // asks for a watch again.
            interest = []
            failure = .system(error)
            let waiting = reader
            reader = nil
            failWriters(.system(error))
            wakePourer()
            waiting?.resume()
        }
    }

    private func forgetWatch() {
        if let watch { loop.unwatch(watch) }
        watch = nil
        interest = []
    }

    private func ready(_ readiness: Readiness) {
        let isOver = !readiness.isDisjoint(with: Self.ends)
        let waitedFor = wanted
        if isOver || readiness.contains(.writable) {
            if !writers.isEmpty { pump() }
            if writers.isEmpty { wakePourer() }
        }
        if isOver || readiness.contains(.readable) { wakeReader() }
        // Who was woken now will most likely wait again.
        let isMissed = isOver ? waitedFor.isEmpty : !interest.intersection(readiness).isSubset(of: waitedFor)
        if isMissed { narrowWatch(to: wanted) }
    }

    // Made once: this is asked after every packet.
    private static let ends: Readiness = [.failed, .hungUp]
}
