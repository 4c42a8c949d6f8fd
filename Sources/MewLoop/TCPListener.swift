internal import CSys
package import MewBase

/// Listens on a TCP port.
///
/// Connections are handed over one by one as they come, on the loop's thread; at most 64 a turn, so that a flood of them
/// leaves time for those that are there. Touched on the loop's thread only; lives until `close`.
package final class TCPListener: StreamListener {
    private let loop: EventLoop
    private var descriptor: Int32
    private var watch: DescriptorWatch?
    private var pause: LoopTimer?
    private let accepted: (TCPSocket) -> Void

    /// Where it listens, with the port that was taken.
    package let localAddress: SocketAddress

    private static let perTurn = 64
    /// How long nothing is accepted after the kernel ran out of descriptors or memory: the connection stays in its queue and
    /// would be reported at once.
    private static let breath: Duration = .milliseconds(100)

    /// - Parameter accepted: owns what it is given. Called on the loop's thread.
    package init(
        binding address: SocketAddress, on loop: EventLoop, accepted: @escaping (TCPSocket) -> Void
    ) throws(SocketError) {
        loop.checkIsolated()
        self.loop = loop
        self.accepted = accepted
        descriptor = csys_tcp_listen(csys_address(address))
        guard descriptor >= 0 else { throw SocketError(errno: -descriptor, binding: address) }
        var local = csys_address()
        let error = csys_tcp_local(descriptor, &local)
        localAddress = SocketAddress(local)
        guard error == 0 else { throw SocketError(errno: error, binding: address) }
        do throws(SystemError) {
            watch = try loop.watch(descriptor, for: .readable) { _ in self.acceptAll() }
        } catch {
            throw SocketError.system(errno: error.errno, doing: error.doing)
        }
    }

    deinit {
        if descriptor >= 0 { csys_close(descriptor) }
    }

    private func acceptAll() {
        for _ in 0..<Self.perTurn {
            guard descriptor >= 0 else { return }
            var peer = csys_address()
            let connection = csys_tcp_accept(descriptor, &peer)
            guard connection >= 0 else { return connection == TCPSocket.tryAgain ? () : rest() }
            accepted(TCPSocket(owning: connection, peer: SocketAddress(peer), on: loop))
        }
    }

    private func rest() {
        guard let watch else { return }
        loop.change(watch, to: [])
        pause = loop.schedule(at: loop.now.advanced(by: Self.breath)) { [self] in
            pause = nil
            if let watch = self.watch { loop.change(watch, to: .readable) }
        }
    }

    /// Stops listening. What was accepted lives on. Idempotent.
    package func close() {
        guard descriptor >= 0 else { return }
        if let watch { loop.unwatch(watch) }
        if let pause { loop.cancel(pause) }
        (watch, pause) = (nil, nil)
        csys_close(descriptor)
        descriptor = -1
    }
}
