import MewLoop
import MewWire
import Synchronization

/// The threads, signals, input and network of this process.
struct Runtime: Sendable {
    let loop: EventLoop
    /// For what blocks: files.
    let files: BlockingLoop
    let input: StandardInput
    let signals: Signals
    /// Makes the dialler at its first use: most commands that fail need none.
    let makeDialer: @Sendable (DialerOptions, Runtime) async throws(CommandFailure) -> any Dialer
    private let ending = Ending()

    /// - Parameter source: made before any thread existed; nil takes no signals, for tests.
    init(
        loop: EventLoop, signals source: SignalSource?,
        makeDialer: @escaping @Sendable (DialerOptions, Runtime) async throws(CommandFailure) -> any Dialer
    ) async throws(SystemError) {
        self.loop = loop
        files = try BlockingLoop(name: "mew-files")
        input = StandardInput(on: loop)
        signals = if let source { try await Signals(source, on: loop) } else { Signals() }
        self.makeDialer = makeDialer
    }

    /// Has `action` run before the process ends: goodbyes that peers should hear.
    func atEnd(_ action: @escaping @Sendable () async -> Void) {
        ending.actions.withLock { $0.append(action) }
    }

    func end() async {
        let actions = ending.actions.withLock { actions in
            defer { actions = [] }
            return actions
        }
        for action in actions.reversed() { await action() }
    }
}

/// What is left to do at the end, newest last.
private final class Ending: Sendable {
    let actions = Mutex<[@Sendable () async -> Void]>([])
}
