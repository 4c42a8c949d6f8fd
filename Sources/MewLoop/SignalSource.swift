internal import CSys
internal import Glibc

/// The signals a program is asked to end, or to look again, with.
package struct Signal: Hashable, Sendable, CustomStringConvertible {
    package let number: Int32

    package init(number: Int32) {
        self.number = number
    }

    package static let terminate = Signal(number: SIGTERM)
    package static let interrupt = Signal(number: SIGINT)
    package static let hangUp = Signal(number: SIGHUP)
    package static let windowChanged = Signal(number: SIGWINCH)
    package static let user1 = Signal(number: SIGUSR1)
    package static let user2 = Signal(number: SIGUSR2)

    package var description: String {
        switch self {
        case .terminate: "SIGTERM"
        case .interrupt: "SIGINT"
        case .hangUp: "SIGHUP"
        case .windowChanged: "SIGWINCH"
        case .user1: "SIGUSR1"
        case .user2: "SIGUSR2"
        default: "signal \(number)"
        }
    }
}

/// Signals as events instead of interruptions.
///
/// Made first thing in `main`, before any thread exists: a blocked signal goes to any thread that does not block it, and
/// threads inherit the mask of who starts them. Children are started with an empty mask. SIGPIPE is ignored from then on.
///
/// `@unchecked Sendable`: `watch` is touched on the loop's thread only.
package final class SignalSource: @unchecked Sendable {
    private let descriptor: Int32
    private var watch: DescriptorWatch?

    package init(blocking signals: [Signal]) throws(SystemError) {
        csys_ignore_sigpipe()
        let numbers = signals.map(\.number)
        descriptor = try checked(csys_signals_open(numbers, Int32(numbers.count)), "blocking signals")
    }

    deinit {
        csys_close(descriptor)
    }

    /// Calls `handler` on `loop` for each signal that arrives, also for those that came before. Once.
    package func deliver(on loop: EventLoop, to handler: @escaping @Sendable (Signal) -> Void) async throws(SystemError)
    {
        let result = await loop.spawn { () -> Result<Void, SystemError> in
            Result { () throws(SystemError) in try self.start(loop, handler) }
        }.value
        try result.get()
    }

    private func start(_ loop: EventLoop, _ handler: @escaping @Sendable (Signal) -> Void) throws(SystemError) {
        precondition(watch == nil, "signals are delivered to one handler")
        watch = try loop.watch(descriptor, for: .readable) { _ in
            let number = csys_signals_read(self.descriptor)
            if number > 0 { handler(Signal(number: number)) }
        }
    }
}
