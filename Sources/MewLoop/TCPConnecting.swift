internal import CSys
internal import Glibc
package import MewBase

extension StreamSocket {
    /// Connects to a TCP port. How long that may take is the caller's to limit: a task that is cancelled stops waiting.
    package static func connect(
        to address: SocketAddress, on loop: EventLoop
    ) async throws(StreamError) -> StreamSocket {
        let attempt: TCPAttempt
        do throws(SystemError) {
            let descriptor = try checked(csys_tcp_connect(csys_address(address)), "connecting to \(address)")
            attempt = TCPAttempt(owning: descriptor, on: loop)
        } catch {
            throw .system(error)
        }
        return try await attempt.connected(to: address)
    }
}

/// A TCP connection that is being made.
private actor TCPAttempt {
    nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: EventLoop
    private var descriptor: Int32
    private var watch: DescriptorWatch?
    private var waiting: CheckedContinuation<Void, Never>?
    private var isOver = false

    init(owning descriptor: Int32, on loop: EventLoop) {
        self.descriptor = descriptor
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    deinit {
        if descriptor >= 0 { csys_close(descriptor) }
    }

    func connected(to address: SocketAddress) async throws(StreamError) -> StreamSocket {
        do throws(SystemError) {
            watch = try loop.watch(descriptor, for: .writable) { _ in self.assumeIsolated { $0.wake() } }
        } catch {
            throw .system(error)
        }
        await ended()
        guard !Task.isCancelled else { throw .cancelled }
        let error = csys_tcp_error(descriptor)
        guard error == 0 else { throw .system(SystemError(errno: error, doing: "connecting to \(address)")) }
        defer { descriptor = -1 }
        return StreamSocket(owning: descriptor, on: loop)
    }

    private func ended() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !isOver, !Task.isCancelled else { return continuation.resume() }
                waiting = continuation
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.wake() } }
        }
        if let watch { loop.unwatch(watch) }
        watch = nil
    }

    private func wake() {
        isOver = true
        if let watch { loop.unwatch(watch) }
        watch = nil
        let continuation = waiting
        waiting = nil
        continuation?.resume()
    }
}
