import MewBase
import MewIdentity
import MewWire
import Synchronization

/// What the two ends of a loopback link share.
final class LoopbackConnection: Sendable {
    typealias Side = LoopbackLink.Side

    let dialler: NodeID
    let listener: NodeID
    /// Of the dialler.
    let address: SocketAddress
    let applicationProtocol: ApplicationProtocol
    /// Stands for the TLS master secret: the same on both ends, another for each link.
    let secret: [UInt8]
    private let capacityBytes: Int
    private let state = Mutex(State())

    /// Channels that were opened and not accepted. A listener under test that accepts none is a bug of the test.
    private static let maxUnaccepted = 1_000

    private struct Closures {
        let dialler: LinkClosure
        let listener: LinkClosure

        func seen(from side: Side) -> LinkClosure { side == .dialler ? dialler : listener }
    }

    private struct CloseWaiter {
        let ticket: UInt64
        let side: Side
        let continuation: CheckedContinuation<LinkClosure?, Never>
    }

    private struct State {
        var opened: [(near: LoopbackChannel, far: LoopbackChannel)] = []
        var unaccepted: [LoopbackChannel] = []
        var acceptor: CheckedContinuation<LoopbackChannel?, Never>?
        var closures: Closures?
        var closeWaiters: [CloseWaiter] = []
        var nextTicket: UInt64 = 0
        var isAuthorized = false
        var mayWait = false
    }

    init(
        dialler: NodeID, listener: NodeID, address: SocketAddress, applicationProtocol: ApplicationProtocol,
        capacityBytes: Int
    ) {
        self.address = address
        self.dialler = dialler
        self.listener = listener
        self.applicationProtocol = applicationProtocol
        self.capacityBytes = capacityBytes
        secret = SystemEntropy().bytes(32)
    }

    func authorize() {
        state.withLock { $0.isAuthorized = true }
    }

    func keepWaiting() {
        state.withLock { $0.mayWait = true }
    }

    var mayWait: Bool { state.withLock { $0.mayWait } }

    var isAuthorized: Bool { state.withLock { $0.isAuthorized } }

    // MARK: Channels

    func openChannel() throws(ChannelError) -> LoopbackChannel {
        let result: Result<LoopbackChannel, ChannelError> = state.withLock { state in
            if let closures = state.closures { return .failure(.linkClosed(closures.dialler)) }
            guard applicationProtocol == .native || state.opened.isEmpty else {
                return .failure(.protocolViolation("a stock link has exactly one channel"))
            }
            let forward = LoopbackPipe(capacityBytes: capacityBytes)
            let backward = LoopbackPipe(capacityBytes: capacityBytes)
            let far = LoopbackChannel(incoming: forward, outgoing: backward)
            let near = LoopbackChannel(incoming: backward, outgoing: forward) { [weak self, weak far] in
                if let far { self?.announce(far) }
            }
            state.opened.append((near, far))
            return .success(near)
        }
        let channel = try result.get()
        // On a stock link the upgrade request is written at once, which shows the stream to the peer.
        if applicationProtocol == .stock { channel.announceOnce() }
        return channel
    }

    private func announce(_ channel: LoopbackChannel) {
        let acceptor = state.withLock { state in
            defer { state.acceptor = nil }
            if state.acceptor == nil, state.closures == nil {
                precondition(state.unaccepted.count < Self.maxUnaccepted, "nobody accepts channels")
                state.unaccepted.append(channel)
            }
            return state.acceptor
        }
        acceptor?.resume(returning: channel)
    }

    func acceptChannel() async -> LoopbackChannel? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let now = state.withLock { state -> LoopbackChannel?? in
                    precondition(state.acceptor == nil, "channels have one acceptor")
                    if !state.unaccepted.isEmpty { return .some(state.unaccepted.removeFirst()) }
                    if state.closures != nil || Task.isCancelled { return .some(nil) }
                    state.acceptor = waiter
                    return nil
                }
                if let now { waiter.resume(returning: now) }
            }
        } onCancel: {
            let acceptor = state.withLock { state in
                defer { state.acceptor = nil }
                return state.acceptor
            }
            acceptor?.resume(returning: nil)
        }
    }

    // MARK: The end

    func end(by side: Side, _ closure: LinkClosure, peerSees peerClosure: LinkClosure) {
        let ended = state.withLock { state -> State? in
            guard state.closures == nil else { return nil }
            defer { (state.opened, state.acceptor, state.closeWaiters) = ([], nil, []) }
            state.closures =
                side == .dialler
                ? Closures(dialler: closure, listener: peerClosure) : Closures(dialler: peerClosure, listener: closure)
            return state
        }
        guard let ended else { return }
        // Not under the lock: cancelling takes the lock of the task first and ours second.
        ended.acceptor?.resume(returning: nil)
        for waiter in ended.closeWaiters {
            waiter.continuation.resume(returning: waiter.side == side ? closure : peerClosure)
        }
        for channel in ended.opened {
            (side == .dialler ? channel.near : channel.far).linkClosed(closure, peerSees: peerClosure)
        }
    }

    func closed(_ side: Side) async -> LinkClosure? {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = state.withLock { state -> LinkClosure?? in
                    if let closures = state.closures { return .some(closures.seen(from: side)) }
                    if Task.isCancelled { return .some(nil) }
                    state.closeWaiters.append(CloseWaiter(ticket: ticket, side: side, continuation: continuation))
                    return nil
                }
                if let now { continuation.resume(returning: now) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.closeWaiters.firstIndex { $0.ticket == ticket }.map { state.closeWaiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: nil)
        }
    }
}
