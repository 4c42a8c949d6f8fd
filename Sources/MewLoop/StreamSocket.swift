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
    struct Writer {
        let number: UInt64
        let bytes: [UInt8]
        var sent = 0
        /// Nil when its task was cancelled after the first byte had left.
        var continuation: CheckedContinuation<Result<Void, StreamError>, Never>?
    }

    package nonisolated let unownedExecutor: UnownedSerialExecutor
    /// Nil when it is no Unix socket.
    package nonisolated let peer: PeerCredentials?

    let loop: EventLoop
    var descriptor: Int32
    private var watch: DescriptorWatch?
    private var interest: Readiness = []
    var buffer = LineBuffer()
    var isAtEnd = false
    /// Why it cannot be waited for any more.
    var failure: StreamError?
    var reader: CheckedContinuation<Void, Never>?
    var writers: [Writer] = []
    /// Who writes an output, while the kernel takes nothing.
    var pourer: CheckedContinuation<Void, Never>?
    var writerNumber: UInt64 = 0
    var finishes = false
    /// Nil for a Unix socket, whose reader is on this machine.
    var unsent: UnsentBound?

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
    func updateWatch() {
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
