import MewClient
import MewLoop
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What happens at SIGINT, SIGTERM and SIGHUP: whoever listens decides; without a listener the process ends as if the signal had
/// not been caught.
final class Signals: Sendable {
    static let caught: [Signal] = [.interrupt, .terminate, .hangUp]

    private let listener = Mutex<(@Sendable (Signal) -> Void)?>(nil)

    init() {}

    init(_ source: SignalSource, on loop: EventLoop) async throws(SystemError) {
        try await source.deliver(on: loop) { self.arrived($0) }
    }

    /// From now on `handler` hears every signal; nil gives up listening. On the loop's thread; must not block.
    func listen(_ handler: (@Sendable (Signal) -> Void)?) {
        listener.withLock { $0 = handler }
    }

    func arrived(_ signal: Signal) {
        guard let handler = listener.withLock({ $0 }) else {
            // 128 + number is what a shell reports for a process that died of a signal.
            exit(128 + signal.number)
        }
        handler(signal)
    }
}
