package import MewBase

/// Listens for TCP connections. The kernel's in production, the simulated network's in tests.
package protocol StreamNetwork: Sendable {
    /// Listens on `address`; port 0 takes a free port. On the loop's thread only.
    ///
    /// - Parameter accepted: owns what it is given. Called on the loop's thread.
    func listen(
        _ address: SocketAddress, on loop: any Loop, accepted: @escaping (any StreamEnd) -> Void
    ) throws(SocketError) -> any StreamListener
}

/// A TCP port that is listened on. Touched on the loop's thread only; lives until `close`.
package protocol StreamListener: AnyObject {
    /// Where it listens, with the port that was taken.
    var localAddress: SocketAddress { get }

    /// Stops listening. What was accepted lives on. Idempotent.
    func close()
}

/// One TCP connection as a kernel offers it: reads and writes that never wait, and a callback when waiting may be over.
/// Touched on the loop's thread only; the loop holds it from `start` until `close`.
package protocol StreamEnd: AnyObject {
    var peer: SocketAddress { get }
    var isOpen: Bool { get }

    /// Calls `handler` whenever the connection is ready for what was asked, has failed, or the peer is gone. Once.
    func start(for interest: Readiness, _ handler: @escaping (Readiness) -> Void) throws(SystemError)

    /// What to wait for from now on. Failures and hang-ups are reported in any case.
    func wait(for interest: Readiness)

    func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamRead

    func write(_ bytes: UnsafeRawBufferPointer) -> StreamWrite

    /// Has the kernel hold about this many bytes that nobody has read yet, and let the sender wait with the rest.
    func limitUnread(to byteCount: Int)

    /// Ends our direction after what was written.
    func finish()

    /// Idempotent. The handler is not called again.
    ///
    /// - Parameter aborting: resets the connection instead of handing over what the kernel still holds.
    func close(aborting: Bool)
}

extension StreamEnd {
    /// For connections whose window is small already.
    package func limitUnread(to byteCount: Int) {}
}

/// What a read gave.
package enum StreamRead: Equatable {
    case bytes(Int)
    case nothing
    case end
    case failed(SystemError)
}

/// What a write came to.
package enum StreamWrite: Equatable {
    /// How many were taken; fewer than offered when there is no more room.
    case taken(Int)
    case failed(SystemError)
}

/// Real TCP.
package struct KernelStreamNetwork: StreamNetwork {
    package init() {}

    package func listen(
        _ address: SocketAddress, on loop: any Loop, accepted: @escaping (any StreamEnd) -> Void
    ) throws(SocketError) -> any StreamListener {
        guard let loop = loop as? EventLoop else { preconditionFailure("kernel sockets need an event loop") }
        return try TCPListener(binding: address, on: loop, accepted: accepted)
    }
}
