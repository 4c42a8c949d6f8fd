internal import CSys
internal import Glibc
package import MewBase

/// One TCP connection as the kernel offers it: reads and writes that never wait, and a callback when waiting may be over.
///
/// For servers, where thousands of connections share one thread's buffers. Whoever wants to wait in a task uses
/// `StreamSocket`. Touched on the loop's thread only; the loop holds it from `start` until `close`.
package final class TCPSocket: StreamEnd {
    static let tryAgain = -EAGAIN

    package let peer: SocketAddress
    private let loop: EventLoop
    private var descriptor: Int32
    private var watch: DescriptorWatch?
    private var interest: Readiness = []
    private var unsent = UnsentBound()

    init(owning descriptor: Int32, peer: SocketAddress, on loop: EventLoop) {
        self.descriptor = descriptor
        self.peer = peer
        self.loop = loop
    }

    deinit {
        if descriptor >= 0 { csys_close(descriptor) }
    }

    package var isOpen: Bool { descriptor >= 0 }

    /// Calls `handler` whenever the socket is ready for what was asked, has failed, or the peer is gone. Once.
    package func start(for interest: Readiness, _ handler: @escaping (Readiness) -> Void) throws(SystemError) {
        precondition(watch == nil, "a socket is watched once")
        watch = try loop.watch(descriptor, for: interest, handler)
        self.interest = interest
    }

    /// What to wait for from now on. Failures and hang-ups are reported in any case.
    package func wait(for interest: Readiness) {
        guard let watch, interest != self.interest else { return }
        self.interest = interest
        loop.change(watch, to: interest)
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> StreamRead {
        guard descriptor >= 0 else { return .end }
        let count = csys_stream_read(descriptor, buffer.baseAddress, buffer.count)
        if count > 0 { return .bytes(Int(count)) }
        if count == 0 { return .end }
        guard count != -Int64(EAGAIN) else { return .nothing }
        return .failed(SystemError(errno: Int32(-count), doing: "reading from a connection"))
    }

    package func write(_ bytes: UnsafeRawBufferPointer) -> StreamWrite {
        guard descriptor >= 0 else { return .failed(SystemError(errno: EPIPE, doing: "writing to a connection")) }
        let offered = min(bytes.count, unsent.room(descriptor))
        let count = offered > 0 ? csys_stream_write(descriptor, bytes.baseAddress, offered) : -Int64(EAGAIN)
        if count < bytes.count { unsent.reached(descriptor, now: loop.now) }
        if count >= 0 { return .taken(Int(count)) }
        guard count != -Int64(EAGAIN) else { return .taken(0) }
        return .failed(SystemError(errno: Int32(-count), doing: "writing to a connection"))
    }

    package func limitUnread(to byteCount: Int) {
        if descriptor >= 0 { csys_tcp_limit_unread(descriptor, Int32(clamping: byteCount)) }
    }

    /// Ends our direction after what was written.
    package func finish() {
        if descriptor >= 0 { csys_stream_finish(descriptor) }
    }

    /// Idempotent. The handler is not called again.
    ///
    /// - Parameter aborting: resets the connection instead of handing over what the kernel still holds.
    package func close(aborting: Bool) {
        guard descriptor >= 0 else { return }
        if let watch { loop.unwatch(watch) }
        watch = nil
        if aborting { csys_tcp_abort_on_close(descriptor) }
        csys_close(descriptor)
        descriptor = -1
    }
}
