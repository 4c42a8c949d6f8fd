import MewClient
import MewLoop
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What happens at SIGINT, SIGTERM and SIGHUP: whoever listens decides; without a listener the process says goodbye to its peers
/// and ends as if the signal had not been caught. A second one ends it at once.
final class Signals: Sendable {
    static let caught: [Signal] = [.interrupt, .terminate, .hangUp]

    private struct State {
        var listener: (@Sendable (Signal) -> Void)?
        var farewell: (@Sendable () async -> Void)?
        var fatal: Signal?
    }

    private let state = Mutex(State())
    private let loop: EventLoop?

    /// For tests: takes no signals by itself and ends no process.
    init() {
        loop = nil
    }

    init(_ source: SignalSource, on loop: EventLoop) async throws(SystemError) {
        self.loop = loop
        try await source.deliver(on: loop) { self.arrived($0) }
    }

    /// From now on `handler` hears every signal; nil gives up listening. On the loop's thread; must not block.
    func listen(_ handler: (@Sendable (Signal) -> Void)?) {
        state.withLock { $0.listener = handler }
    }

    /// Somebody listens.
    var isHeard: Bool { state.withLock { $0.listener != nil } }

    /// What is done before the process ends of a signal that nobody listens for.
    func beforeEnd(_ farewell: @escaping @Sendable () async -> Void) {
        state.withLock { $0.farewell = farewell }
    }

    /// The signal that is ending the process. From then on nothing is printed: what commands see now are only the consequences.
    var fatal: Signal? { state.withLock { $0.fatal } }

    func arrived(_ signal: Signal) {
        if let listener = state.withLock({ $0.listener }) { return listener(signal) }
        let farewell = state.withLock { state in
            defer { state.fatal = state.fatal ?? signal }
            return state.fatal == nil ? state.farewell : nil
        }
        guard let loop else { return }
        guard let farewell else { exit(signal.exitStatus) }
        loop.spawn {
            await farewell()
            exit(signal.exitStatus)
        }
    }
}

extension Signal {
    /// What a shell reports for a process that died of it.
    var exitStatus: Int32 { 128 + number }
}

/// A sink that falls silent once a signal is ending the process.
struct SinkUntilSignal: LineSink {
    let sink: any LineSink
    let signals: Signals

    func write(_ text: String) {
        if signals.fatal == nil { sink.write(text) }
    }
}
