package import MewBase
package import MewIdentity
package import MewWire
import Synchronization

/// Nodes inside this process that dial one another by node ID.
package final class LoopbackNetwork: Sendable {
    /// Weak, because an endpoint holds its network.
    private struct Listener {
        weak let endpoint: LoopbackEndpoint?
    }

    private let listeners = Mutex<[NodeID: Listener]>([:])

    package init() {}

    /// A node of this network. It can dial at once; it is dialled after `listen`.
    ///
    /// - Parameter address: where it dials from, as a listener sees it.
    package func endpoint(
        _ node: NodeID, protocols: [ApplicationProtocol] = ApplicationProtocol.allCases,
        at address: SocketAddress = .loopback(port: 1)
    ) -> LoopbackEndpoint {
        LoopbackEndpoint(node: node, protocols: protocols, address: address, network: self)
    }

    func register(_ endpoint: LoopbackEndpoint) {
        listeners.withLock { $0[endpoint.node] = Listener(endpoint: endpoint) }
    }

    func unregister(_ endpoint: LoopbackEndpoint) {
        listeners.withLock { listeners in
            if listeners[endpoint.node]?.endpoint === endpoint { listeners[endpoint.node] = nil }
        }
    }

    func listener(_ node: NodeID) -> LoopbackEndpoint? {
        listeners.withLock { $0[node]?.endpoint }
    }
}

/// One node of a `LoopbackNetwork`: a dialler, and a listener once it listens.
package final class LoopbackEndpoint: Dialer, LinkListener {
    package let node: NodeID
    private let protocols: [ApplicationProtocol]
    private let address: SocketAddress
    private let network: LoopbackNetwork
    private let state = Mutex(State())

    /// Links that were dialled and not accepted; as many as strangers are let in (DESIGN §5).
    private static let maxUnaccepted = 32

    private struct State {
        var isListening = false
        var unaccepted: [LoopbackLink] = []
        var acceptor: CheckedContinuation<(any IncomingLink)?, Never>?
        var links: [LoopbackLink] = []
    }

    init(node: NodeID, protocols: [ApplicationProtocol], address: SocketAddress, network: LoopbackNetwork) {
        self.node = node
        self.address = address
        self.protocols = protocols
        self.network = network
    }

    package func listen() {
        state.withLock { $0.isListening = true }
        network.register(self)
    }

    /// Accepts nothing more; links that exist go on.
    package func stopListening() {
        network.unregister(self)
        let acceptor = state.withLock { state in
            state.isListening = false
            defer { state.acceptor = nil }
            return state.acceptor
        }
        acceptor?.resume(returning: nil)
    }

    /// Breaks every link of this node, as a lost network does when the idle time-out has passed.
    package func breakLinks(_ closure: LinkClosure = .idle) {
        let links = state.withLock { state in
            defer { state.links = [] }
            return state.links
        }
        for link in links { link.fail(closure) }
    }

    package func dial(_ target: DialTarget) async throws(DialError) -> any Link {
        let attempt = DialError.Attempt(
            route: .direct(target.addresses.first ?? .loopback(port: 1)), outcome: "nobody listens there")
        guard let listener = network.listener(target.node) else { throw .unreachable([attempt]) }
        guard let chosen = protocols.first(where: listener.protocols.contains) else {
            throw .refused(.transport("no application protocol in common"))
        }
        let pair = LoopbackLink.pair(
            dialler: node, listener: target.node, at: address, applicationProtocol: chosen)
        guard listener.take(pair.listener) else { throw .unreachable([attempt]) }
        state.withLock { $0.links.append(pair.dialler) }
        return pair.dialler
    }

    private func take(_ link: LoopbackLink) -> Bool {
        let (isTaken, acceptor) = state.withLock { state -> (Bool, CheckedContinuation<(any IncomingLink)?, Never>?) in
            guard state.isListening, state.unaccepted.count < Self.maxUnaccepted else { return (false, nil) }
            state.links.append(link)
            defer { state.acceptor = nil }
            if state.acceptor == nil { state.unaccepted.append(link) }
            return (true, state.acceptor)
        }
        // Not under the lock: cancelling takes the lock of the task first and ours second.
        acceptor?.resume(returning: link)
        return isTaken
    }

    package func acceptLink() async -> (any IncomingLink)? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let now = state.withLock { state -> (any IncomingLink)?? in
                    precondition(state.acceptor == nil, "links have one acceptor")
                    if !state.unaccepted.isEmpty { return .some(state.unaccepted.removeFirst()) }
                    if !state.isListening || Task.isCancelled { return .some(nil) }
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
}
