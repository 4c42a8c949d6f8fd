internal import CSys
internal import Glibc
internal import MewBase

/// Listens on a Unix socket that only its owner may use.
///
/// The file has mode 0600 from its first moment, and every connection is asked for its user as well: other users are hung
/// up on. Connections wait in the kernel (at most 64) until somebody accepts them.
package actor UnixListener {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: EventLoop
    private let path: String
    private let file: [UInt64]
    private var descriptor: Int32
    private var watch: DescriptorWatch?
    private var acceptor: CheckedContinuation<Void, Never>?
    private var pause: LoopTimer?

    /// A file left behind by a process that is gone is replaced. The caller holds a lock that lets one process at a time get
    /// here.
    ///
    /// - Throws: `busy` when somebody listens there, `alreadyExists` when the path is something else than a socket.
    package init(at path: String, on loop: EventLoop) throws(SystemError) {
        self.path = path
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
        descriptor = try checked(csys_unix_listen(path), "listening at \(path)")
        file = Self.identity(of: path)
    }

    deinit {
        if descriptor >= 0 { csys_close(descriptor) }
    }

    /// Device and inode of what is at `path` now; empty when nothing is.
    private static func identity(of path: String) -> [UInt64] {
        var (device, inode): (UInt64, UInt64) = (0, 0)
        return csys_path_identity(path, &device, &inode) == 0 ? [device, inode] : []
    }

    /// The next connection; nil when the listener was closed or the task is cancelled.
    package func accept() async -> StreamSocket? {
        while descriptor >= 0, !Task.isCancelled {
            let accepted = csys_stream_accept(descriptor)
            if accepted >= 0 {
                let socket = StreamSocket(owning: accepted, on: loop)
                if let peer = socket.peer, peer.isTrusted { return socket }
            } else {
                // No descriptor is left, or no memory: the connection stays in the queue and would be reported at once.
                await acceptable(after: accepted == -EAGAIN ? nil : Self.breath)
            }
        }
        return nil
    }

    /// Long enough that somebody may have closed a descriptor, short enough not to be noticed.
    private static let breath: Duration = .milliseconds(100)

    private func acceptable(after delay: Duration?) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                precondition(acceptor == nil, "a listener is accepted from by one task at a time")
                guard descriptor >= 0, !Task.isCancelled else { return continuation.resume() }
                acceptor = continuation
                if let delay {
                    pause = loop.schedule(at: loop.now.advanced(by: delay)) { self.assumeIsolated { $0.wake() } }
                } else {
                    startWatch()
                }
            }
        } onCancel: {
            loop.perform { self.assumeIsolated { $0.wake() } }
        }
    }

    private func startWatch() {
        do throws(SystemError) {
            watch = try loop.watch(descriptor, for: .readable) { _ in self.assumeIsolated { $0.wake() } }
        } catch {
            pause = loop.schedule(at: loop.now.advanced(by: Self.breath)) { self.assumeIsolated { $0.wake() } }
        }
    }

    private func wake() {
        if let watch { loop.unwatch(watch) }
        if let pause { loop.cancel(pause) }
        (watch, pause) = (nil, nil)
        let waiting = acceptor
        acceptor = nil
        waiting?.resume()
    }

    /// Stops listening and removes the file, if it is still ours. Connections that were accepted live on. Idempotent.
    package func close() {
        guard descriptor >= 0 else { return }
        wake()
        csys_close(descriptor)
        descriptor = -1
        if !file.isEmpty, Self.identity(of: path) == file { _ = csys_unlink(path) }
    }
}
