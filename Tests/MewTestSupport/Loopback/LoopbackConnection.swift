import MewBase
import MewIdentity
import MewWire
import Synchronization

/// What the two ends of a loopback link share.
final class LoopbackConnection: Sendable {
    typealias Side = LoopbackLink.Side

    let dialler: NodeID
    let listener: NodeID
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

    init(dialler: NodeID, listener: NodeID, applicationProtocol: ApplicationProtocol, capacityBytes: Int) {
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
        state.withLock { state in
            if let acceptor = state.acceptor {
                state.acceptor = nil
                acceptor.resume(returning: channel)
            } else if state.closures == nil {
                precondition(state.unaccepted.count < Self.maxUnaccepted, "nobody accepts channels")
                state.unaccepted.append(channel)
            }
        }
    }

    func acceptChannel() async -> LoopbackChannel? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                state.withLock { state in
                    precondition(state.acceptor == nil, "channels have one acceptor")
                    if !state.unaccepted.isEmpty {
                        waiter.resume(returning: state.unaccepted.removeFirst())
                    } else if state.closures != nil || Task.isCancelled {
                        waiter.resume(returning: nil)
                    } else {
                        state.acceptor = waiter
                    }
                }
            }
        } onCancel: {
            state.withLock { state in
                state.acceptor?.resume(returning: nil)
                state.acceptor = nil
            }
        }
    }

    // MARK: The end

    func end(by side: Side, _ closure: LinkClosure, peerSees peerClosure: LinkClosure) {
        let opened = state.withLock { state -> [(near: LoopbackChannel, far: LoopbackChannel)] in
            guard state.closures == nil else { return [] }
            let closures =
                side == .dialler
                ? Closures(dialler: closure, listener: peerClosure) : Closures(dialler: peerClosure, listener: closure)
            state.closures = closures
            state.acceptor?.resume(returning: nil)
            state.acceptor = nil
            for waiter in state.closeWaiters { waiter.continuation.resume(returning: closures.seen(from: waiter.side)) }
            state.closeWaiters = []
            defer { state.opened = [] }
            return state.opened
        }
        for channel in opened {
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
                state.withLock { state in
                    if let closures = state.closures {
                        continuation.resume(returning: closures.seen(from: side))
                    } else if Task.isCancelled {
                        continuation.resume(returning: nil)
                    } else {
                        state.closeWaiters.append(CloseWaiter(ticket: ticket, side: side, continuation: continuation))
                    }
                }
            }
        } onCancel: {
            state.withLock { state in
                guard let index = state.closeWaiters.firstIndex(where: { $0.ticket == ticket }) else { return }
                state.closeWaiters.remove(at: index).continuation.resume(returning: nil)
            }
        }
    }
}
