package import MewIdentity
package import MewSession
package import MewWire
internal import Synchronization

/// One channel to one client: who is behind it, and the frames that wait for it.
///
/// A stock connection is one of these; a native connection is one for its control channel and one for each session channel.
/// The sessions put frames in, never waiting; the connection takes them out with `batch` as fast as the peer reads. What does not
/// fit becomes a gap (`ClientQueue`).
///
/// The connection owes: one task that sends what `batch` returns until it is nil; before each message it takes from the peer,
/// `waitForRoom`; and `end` when the channel is gone. The sessions owe `wake` for what they put in quietly.
package final class SessionClient: Sendable {
    /// What kind of channel it is, which decides what it gets (spec/native-wire.md §1).
    package enum Role: Hashable, Sendable {
        /// `mew/wire/0`: everything on one stream.
        case stock
        /// The first stream of a native connection: lists and broadcasts, no session.
        case control
        /// A further native stream: one session.
        case session
    }

    private struct State {
        var queue = ClientQueue()
        /// Of the frames that were taken out last and are perhaps still on their way into the transport.
        var sendingBytes = 0
        /// Of an answer that is being made, and may become as large.
        var promisedBytes = 0
        var kind: ClientKind
        var isEnded = false
        var isOverdrawn = false
        var reader: CheckedContinuation<Void, Never>?
        var asker: CheckedContinuation<Void, Never>?
        var whenDrained: (@Sendable () -> Void)?

        /// What this channel costs now.
        var heldBytes: Int { queue.bytes + sendingBytes + promisedBytes }
        var hasRoom: Bool { queue.hasRoom && promisedBytes == 0 }

        /// The first frame, and those behind it that fit with it.
        mutating func takeFrames(maxBytes: Int) -> [[UInt8]] {
            var frames: [[UInt8]] = []
            sendingBytes = 0
            while let size = queue.nextBytes, frames.isEmpty || sendingBytes + size <= maxBytes,
                let frame = queue.pop()
            {
                frames.append(frame)
                sendingBytes += size
            }
            return frames
        }

        mutating func takeReader() -> CheckedContinuation<Void, Never>? {
            defer { reader = nil }
            return reader
        }

        mutating func takeAsker() -> CheckedContinuation<Void, Never>? {
            defer { asker = nil }
            return asker
        }

        mutating func takeWhenDrained() -> (@Sendable () -> Void)? {
            defer { whenDrained = nil }
            return whenDrained
        }
    }

    package let id: ClientID
    package let role: Role
    package let node: NodeID
    /// The name this daemon knows the device by.
    package let name: String
    /// The optional ones that it offered.
    package let capabilities: Set<String>
    private let state: Mutex<State>
    /// What waits here, charged to the budget of the device.
    private let charge: ByteBudget.Share?

    /// - Parameter budget: of the device, for all its channels.
    /// - Parameter kind: what the client says it is. On native and stock channels it is known for certain only with
    ///   `attach_session` or `new_session`, which replace it.
    package init(
        id: ClientID, role: Role, node: NodeID, name: String, budget: ByteBudget? = nil, kind: ClientKind = .unknown,
        capabilities: Set<String> = []
    ) {
        charge = budget?.share()
        (self.id, self.role, self.node, self.name) = (id, role, node, name)
        self.capabilities = capabilities
        state = Mutex(State(kind: kind))
    }

    package var link: ApplicationProtocol { role == .stock ? .stock : .native }

    package var kind: ClientKind { state.withLock { $0.kind } }

    package var by: By { By(node: node, name: name, clientKind: kind) }

    // MARK: - For the connection

    /// The next frames to send, at least one, and not more than one if they have more bytes together; nil when the channel has ended
    /// or the task is cancelled. One caller at a time.
    package func batch(maxBytes: Int) async -> [[UInt8]]? {
        while !Task.isCancelled {
            let (frames, isOver, whenDrained) = state.withLock { state in
                let frames = state.takeFrames(maxBytes: maxBytes)
                charge(state)
                let isDrained = frames.isEmpty && state.queue.isSilent
                return (frames, frames.isEmpty && state.isEnded, isDrained ? state.takeWhenDrained() : nil)
            }
            wakeAsker()
            if !frames.isEmpty { return frames }
            if isOver { return nil }
            whenDrained?()
            await waitForFrame()
        }
        return nil
    }

    /// Returns when the client has read enough of what it asked for to ask for more; at once when it keeps up.
    package func waitForRoom() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { asker in
                let goesOn = state.withLock { state in
                    guard !state.hasRoom, !state.isEnded, !Task.isCancelled else { return true }
                    state.asker = asker
                    return false
                }
                if goesOn { asker.resume() }
            }
        } onCancel: {
            state.withLock { $0.takeAsker() }?.resume()
        }
    }

    /// The channel is gone: `batch` returns what is left and then nil, and nothing more is taken in. Idempotent.
    package func end() {
        let (reader, asker) = state.withLock { state in
            state.isEnded = true
            return (state.takeReader(), state.takeAsker())
        }
        reader?.resume()
        asker?.resume()
    }

    private func waitForFrame() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let goesOn = state.withLock { state in
                    guard state.queue.isEmpty, !state.isEnded, !Task.isCancelled else { return true }
                    state.reader = reader
                    return false
                }
                if goesOn { reader.resume() }
            }
        } onCancel: {
            state.withLock { $0.takeReader() }?.resume()
        }
    }

    private func wakeAsker() {
        state.withLock { $0.hasRoom ? $0.takeAsker() : nil }?.resume()
    }

    // MARK: - For the sessions

    /// Sets room aside for an answer that is being made: until `keep`, the client may not ask for more. False when there is none.
    func promise(_ bytes: Int) -> Bool {
        state.withLock { state in
            guard !state.isEnded, charge?.hold(state.heldBytes + bytes) ?? true else { return false }
            state.promisedBytes += bytes
            return true
        }
    }

    /// The answer is made, or there will be none.
    func keep(promise bytes: Int, with frame: [UInt8]?) {
        state.withLock { $0.promisedBytes -= bytes }
        if let frame { _ = push(frame, .reply) } else { state.withLock { charge($0) } }
        wakeAsker()
    }

    /// Takes a frame in without waiting.
    ///
    /// - Parameter isQuiet: `wake` follows soon, perhaps after more frames.
    func push(_ frame: [UInt8], _ kind: ClientQueue.Kind, isQuiet: Bool = false) -> ClientQueue.Push {
        let (push, reader) = state.withLock { state -> (ClientQueue.Push, CheckedContinuation<Void, Never>?) in
            guard !state.isEnded else { return (.silent, nil) }
            let push = put(frame, kind, into: &state)
            // What was taken in is charged already.
            if push != .queued { charge(state) }
            return (push, isQuiet ? nil : state.takeReader())
        }
        reader?.resume()
        if isOverdrawn { end() }
        return push
    }

    /// What was put in quietly is sent now.
    func wake() {
        state.withLock { $0.queue.isEmpty ? nil : $0.takeReader() }?.resume()
    }

    /// Replies that are kept although the device has used up its budget: receipts, refusals, the word of a gap. Bounded by
    /// `ClientQueue.roomyFrames`.
    private static let smallReplyBytes = 4 << 10

    /// A device that lets more wait than it may, in all its channels, gets gaps; where that is no help, the channel ends.
    private func put(_ frame: [UInt8], _ kind: ClientQueue.Kind, into state: inout State) -> ClientQueue.Push {
        let isSmall = frame.count <= Self.smallReplyBytes
        let bytes = state.heldBytes + frame.count
        switch kind {
        case .stream where charge?.hold(bytes) == false:
            return state.queue.overflow()
        case .reply where charge?.hold(bytes, mayExceed: isSmall) == false:
            (state.queue, state.isOverdrawn) = (ClientQueue(), true)
            return .silent
        case .stream, .reply:
            return state.queue.push(frame, kind)
        }
    }

    private func charge(_ state: State) {
        _ = charge?.hold(state.heldBytes, mayExceed: true)
    }

    /// Takes a frame in without waiting; one that does not exist on this link is left out.
    @discardableResult
    func push(_ frame: DaemonFrame, _ kind: ClientQueue.Kind) -> ClientQueue.Push {
        frame.encoded(for: link).map { push($0, kind) } ?? .queued
    }

    /// Frames that wait to be sent.
    var queued: Int { state.withLock { $0.queue.count } }

    /// The channel was ended because the device lets too much wait in all its channels.
    var isOverdrawn: Bool { state.withLock { $0.isOverdrawn } }

    /// The channel is gone.
    var isEnded: Bool { state.withLock { $0.isEnded } }

    /// A gap was made that is not closed yet.
    var isSilent: Bool { state.withLock { $0.queue.isSilent } }

    /// What the client says it is.
    func identify(as kind: ClientKind) {
        state.withLock { $0.kind = kind }
    }

    /// The client attaches to a session, of which it has the events up to that one.
    func startStream(after sequence: SequenceNumber) {
        state.withLock { $0.queue.restart(after: sequence) }
    }

    /// The stream goes on after a gap.
    func resumeStream() {
        state.withLock { $0.queue.resume() }
    }

    /// Calls `action` once, when everything that was queued before the gap is sent. For clients that cannot ask to go on.
    func whenDrained(_ action: @escaping @Sendable () -> Void) {
        let reader = state.withLock { state in
            state.whenDrained = action
            return state.takeReader()
        }
        reader?.resume()
    }
}
