package import MewBase
package import MewLoop

/// The TCP of one machine: it goes on while the process is stopped, and cleans up after one that was killed.
///
/// Touched on the world's thread only.
final class SimStreams {
    private struct Ends: Hashable {
        let local: SocketAddress
        let remote: SocketAddress
    }

    private unowned let node: SimNode
    private var connections: [Ends: SimStream] = [:]
    private var listeners: [SimStreamListener] = []
    private var nextPort: UInt16 = 32_768

    init(_ node: SimNode) {
        self.node = node
    }

    var world: SimWorld { node.world }

    // MARK: - Opening

    /// Begins to connect. Nil when this machine has no address of that family.
    func connect(to remote: SocketAddress, on loop: SimLoop) -> SimStream? {
        guard node.isAlive, let host = node.source(nil, for: remote) else { return nil }
        nextPort = nextPort >= 60_999 ? 32_769 : nextPort + 1
        let stream = SimStream(self, local: host.with(port: nextPort), peer: remote, on: loop)
        connections[Ends(local: stream.local, remote: remote)] = stream
        stream.open()
        return stream
    }

    func listen(_ listener: SimStreamListener) { listeners.append(listener) }

    func stopListening(_ listener: SimStreamListener) { listeners.removeAll { $0 === listener } }

    func isListening(at address: SocketAddress) -> Bool { listeners.contains { $0.takes(address) } }

    func forget(_ stream: SimStream) { connections[Ends(local: stream.local, remote: stream.peer)] = nil }

    // MARK: - Segments

    func arrived(_ segment: SimSegment, from remote: SocketAddress, to local: SocketAddress) {
        let ends = Ends(local: local, remote: remote)
        if let stream = connections[ends] { return stream.receive(segment) }
        if segment.flags == .synchronize, let listener = listeners.first(where: { $0.takes(local) }) {
            let stream = SimStream(self, local: local, peer: remote, on: listener.loop, listener)
            connections[ends] = stream
            return stream.receive(segment)
        }
        guard !segment.flags.contains(.reset) else { return }
        let end =
            segment.sequence + UInt64(segment.bytes.count)
            + (segment.flags.isDisjoint(with: [.synchronize, .finish]) ? 0 : 1)
        send(
            SimSegment([.reset, .acknowledge], sequence: segment.acknowledged, acknowledged: end, window: 0),
            from: local,
            to: remote)
    }

    /// Nothing leaves from an address that the machine has no more.
    func send(_ segment: SimSegment, from local: SocketAddress, to remote: SocketAddress) {
        guard node.state != .asleep, node.hosts.contains(local.with(port: 0)),
            let next = world.internet.nextHop(to: remote, in: node.realm)
        else { return }
        let count = segment.bytes.count + SimSegment.extraHeaderBytes
        let flight = Flight(
            kind: .segment, from: local, to: remote, target: next.number, count: count, segment: segment)
        world.internet.send(
            flight, from: world.internet.host(at: local, in: node.realm), now: world.now.nanoseconds)
    }

    // MARK: - The machine

    var isAsleep: Bool { node.state == .asleep }

    /// The machine wakes: timers that were due are due now.
    func resume() {
        for stream in ordered { stream.arm() }
    }

    /// The process is gone: its connections are closed, what it had not read is not wanted any more.
    func processEnded() {
        listeners = []
        for stream in ordered { stream.close(aborting: false) }
    }

    /// Always in the same order: that of a dictionary is another one in each process.
    private var ordered: [SimStream] {
        connections.values.sorted { one, other in
            (one.local.port, one.peer.high, one.peer.low, one.peer.port)
                < (other.local.port, other.peer.high, other.peer.low, other.peer.port)
        }
    }
}

/// A TCP port that a simulated machine listens on.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
final class SimStreamListener: StreamListener, @unchecked Sendable {
    let localAddress: SocketAddress
    let loop: SimLoop
    private let node: SimNode
    let accepted: (any StreamEnd) -> Void

    init(_ node: SimNode, _ address: SocketAddress, on loop: SimLoop, accepted: @escaping (any StreamEnd) -> Void) {
        (self.node, localAddress, self.loop, self.accepted) = (node, address, loop, accepted)
    }

    func takes(_ address: SocketAddress) -> Bool {
        localAddress.port == address.port && localAddress.family == address.family
            && (localAddress.isUnspecified || localAddress == address)
    }

    func close() { node.kernel.stopListening(self) }
}

/// The TCP of a simulated machine, for servers and clients.
package struct SimStreamNetwork: StreamNetwork {
    let node: SimNode

    package func listen(
        _ address: SocketAddress, on loop: any Loop, accepted: @escaping (any StreamEnd) -> Void
    ) throws(SocketError) -> any StreamListener {
        guard let loop = loop as? SimLoop else { preconditionFailure("simulated sockets need a simulated loop") }
        loop.checkIsolated()
        precondition(address.port != 0, "a simulated server chooses its port")
        guard address.isUnspecified || node.hosts.contains(address.with(port: 0)) else {
            throw .addressNotAvailable(address)
        }
        guard !node.kernel.isListening(at: address) else { throw .addressInUse(address) }
        let listener = SimStreamListener(node, address, on: loop, accepted: accepted)
        node.kernel.listen(listener)
        return listener
    }

    /// Begins to connect. It is open when it is writable, and has failed when a read says so; nil when the machine has no
    /// address to connect from.
    package func connect(to remote: SocketAddress, on loop: SimLoop) -> (any StreamEnd)? {
        node.kernel.connect(to: remote, on: loop)
    }
}
