import MewSession
package import MewWire
import Synchronization

/// What one channel is still to send: filled by sessions, broadcasts and replies, emptied by the channel's one sender.
///
/// A lock and no actor, so that whoever has something to say says it at once and in order: the order of frames is the order
/// of the calls. Bounded by `ClientQueue`: a client that does not read loses the stream and gets a gap, and may not ask for
/// more until it has read (`room`).
package final class Outbox: Sendable {
    private struct State {
        var queue = ClientQueue()
        var view: ClientView
        var sender: CheckedContinuation<[UInt8]?, Never>?
        var asker: CheckedContinuation<Void, Never>?
        var isFinished = false
        /// The stream was dropped; true until everything queued before has been sent.
        var isGapPending = false
    }

    private let state: Mutex<State>
    package let link: ApplicationProtocol

    package init(link: ApplicationProtocol) {
        self.link = link
        state = Mutex(State(view: ClientView(link: link)))
    }

    /// What the client says it is, at every attach.
    package func identify(as kind: ClientKind) {
        state.withLock { $0.view.clientKind = kind }
    }

    // MARK: Filling

    /// Queues a frame of the attached session, or a reply. What everybody gets reaches a stock client once, by `broadcast`.
    @discardableResult
    package func push(_ frame: DaemonFrame, _ kind: ClientQueue.Kind) -> ClientQueue.Push {
        if link == .stock, kind != .reply, frame.message.kind.isForEveryone { return .queued }
        return add(frame, kind)
    }

    /// The answer to a request of this channel.
    package func reply(_ message: DaemonMessage, ref: String? = nil, sessionID: SessionID? = nil) {
        add(DaemonFrame(message, sessionID: sessionID, ref: ref), .reply)
    }

    /// Queues a frame that goes to everybody.
    func broadcast(_ frame: DaemonFrame) {
        add(frame, .stream(upTo: nil))
    }

    @discardableResult
    private func add(_ frame: DaemonFrame, _ kind: ClientQueue.Kind) -> ClientQueue.Push {
        state.withLock { state in
            guard !state.isFinished else { return .silent }
            var result = ClientQueue.Push.queued
            for frame in state.view.frames(for: frame) {
                guard let bytes = frame.encoded(for: link) else { continue }
                switch state.queue.push(bytes, kind) {
                case .queued: break
                case .silent: result = .silent
                case .overflowed(let after):
                    state.isGapPending = true
                    result = .overflowed(after: after)
                }
            }
            Self.serve(&state)
            return result
        }
    }

    /// The stream goes on: the client knows what it missed, or is about to be told.
    package func resume() {
        state.withLock { $0.queue.resume() }
    }

    /// The channel attaches to another session, whose numbers have nothing to do with the former ones.
    package func restart() {
        state.withLock { $0.queue.restart() }
    }

    /// Nothing more is accepted; what is queued may still be sent.
    package func finish() {
        state.withLock { state in
            state.isFinished = true
            Self.serve(&state)
            state.asker?.resume()
            state.asker = nil
        }
    }

    // MARK: Emptying

    /// The next frame; nil at the end or when the task is cancelled. One caller.
    func next() async -> [UInt8]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                state.withLock { state in
                    precondition(state.sender == nil, "a channel has one sender")
                    guard !Task.isCancelled else { return waiter.resume(returning: nil) }
                    state.sender = waiter
                    Self.serve(&state)
                }
            }
        } onCancel: {
            state.withLock { state in
                state.sender?.resume(returning: nil)
                state.sender = nil
            }
        }
    }

    private static func serve(_ state: inout State) {
        guard let sender = state.sender else { return }
        guard let frame = state.queue.pop() else {
            guard state.isFinished else { return }
            state.sender = nil
            return sender.resume(returning: nil)
        }
        state.sender = nil
        sender.resume(returning: frame)
        guard state.queue.hasRoom else { return }
        state.asker?.resume()
        state.asker = nil
    }

    /// True once after the stream was dropped and the rest is sent: time to tell a stock client afresh.
    func takeGap() -> Bool {
        state.withLock { state in
            guard state.isGapPending, state.queue.isEmpty else { return false }
            state.isGapPending = false
            return true
        }
    }

    /// Suspends while the client should read before it asks for more. One caller.
    func room() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                state.withLock { state in
                    precondition(state.asker == nil, "a channel has one reader")
                    guard !state.queue.hasRoom, !state.isFinished, !Task.isCancelled else { return waiter.resume() }
                    state.asker = waiter
                }
            }
        } onCancel: {
            state.withLock { state in
                state.asker?.resume()
                state.asker = nil
            }
        }
    }
}
