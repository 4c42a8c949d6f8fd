import MewClient
import MewLoop
import MewWire

/// What a command that stays on the screen reacts to, in one queue: events of the daemon, lines a person types, signals, time.
enum ScreenInput: Sendable {
    case event(ClientEvent)
    /// Nil at the end of the input.
    case line(String?)
    case signal(Signal)
    /// A time that was asked for has come.
    case timer(ScreenTimer)
}

enum ScreenTimer: Sendable {
    /// The two seconds in which a second Ctrl-C cancels are over.
    case detach
    /// There has been no connection for too long, unless that loss of it is over.
    case linkPatience(Int)
    /// Nothing more is coming after the end of a turn.
    case afterTurn
}

/// Runs the sources of `ScreenInput` beside a body that consumes them.
struct Screen: Sendable {
    let inputs = Feed<ScreenInput>()
    private let context: CommandContext
    private let timers = Feed<(Duration, ScreenTimer)>(capacity: 8)

    init(_ context: CommandContext) {
        self.context = context
    }

    /// Has `timer` arrive after `delay`.
    func schedule(_ timer: ScreenTimer, after delay: Duration) async {
        await timers.send((delay, timer))
    }

    func run<Value: Sendable>(
        events: Feed<ClientEvent>, readsLines: Bool,
        _ body: @escaping @Sendable () async throws(CommandFailure) -> Value
    ) async throws(CommandFailure) -> Value {
        let result = await withTaskGroup(of: Result<Value, CommandFailure>?.self) { group in
            group.addTask {
                for await event in events { if await inputs.send(.event(event)) == false { break } }
                return nil
            }
            if readsLines {
                group.addTask {
                    await readLines()
                    return nil
                }
            }
            group.addTask {
                await runTimers()
                return nil
            }
            group.addTask {
                do throws(CommandFailure) {
                    return .success(try await body())
                } catch {
                    return .failure(error)
                }
            }
            // Signals arrive on the loop's thread, which must not wait; a queue that is full of events takes them all the same.
            context.runtime.signals.listen { inputs.post(.signal($0)) }
            var result: Result<Value, CommandFailure>?
            while result == nil, let next = await group.next() { result = next }
            context.runtime.signals.listen(nil)
            inputs.finish()
            timers.finish()
            events.finish()
            group.cancelAll()
            return result
        }
        guard let result else { throw CommandFailure(.internal, "the command ended without a result") }
        return try result.get()
    }

    private func readLines() async {
        while !Task.isCancelled {
            guard let bytes = try? await context.runtime.input.readLine(maxBytes: 65_536) else {
                await inputs.send(.line(nil))
                return
            }
            guard await inputs.send(.line(String(decoding: bytes, as: UTF8.self))) else { return }
        }
    }

    private func runTimers() async {
        let clock = LoopClock(context.runtime.loop)
        await withTaskGroup(of: Void.self) { group in
            for await (delay, timer) in timers {
                group.addTask {
                    guard await clock.pause(for: delay) == .over else { return }
                    await inputs.send(.timer(timer))
                }
            }
            group.cancelAll()
        }
    }
}
