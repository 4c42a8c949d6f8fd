package import MewBase
package import MewIdentity
package import MewLoop
internal import MewQUICCore

/// One node's presence on the network: listens and dials on the same UDP sockets, one per address family.
///
/// Pinned to its loop, like all its connections: a packet is read, handled and answered within one turn. The sockets are
/// flushed once a turn. Only connections that something happened to are looked at, so a thousand idle ones cost nothing.
///
/// Whoever starts an endpoint closes it (`close`): its sockets and connections refer to it until then.
package actor Endpoint {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    package nonisolated let loop: any Loop
    package nonisolated let node: NodeID
    nonisolated let configuration: EndpointConfiguration
    nonisolated let entropy: any Entropy

    let credentials: TLSCredentials
    let resetKey: ResetKey
    let statelessPackets: StatelessPackets
    let outlets = Outlets()

    var table = ConnectionTable()
    var demultiplexer = Demultiplexer()
    var admission: Admission
    var deadlines = DeadlineHeap()
    var strangerDeadlines = DeadlineHeap()
    /// Answers to packets of nobody: resets and Version Negotiation. A flood must not make us send one.
    var strayLimit = RateLimit(burst: 64, perSecond: 256)
    var counters = EndpointCounters()

    var dirtyEstablished: [ConnectionSlot] = []
    var dirtyUnauthorized: [ConnectionSlot] = []
    var initials: [PendingInitial] = []
    var isTurnScheduled = false
    var timer: (id: LoopTimer, deadline: Instant)?

    var waiters = Waiters()
    /// Complete and not accepted yet: no more than there may be strangers.
    var incoming: [Connection] = []
    let acceptors = WaitList()
    /// Dials under way, by number: slots may have a new owner before a dial that failed goes on.
    var dials: [UInt64: Dial] = [:]
    var lastDial: UInt64 = 0
    var isClosing = false
    /// Whoever waits for the end of `close`.
    let sleepers = WaitList()

    /// Packets that start with a byte below 4: STUN (RFC 9443). Called in the turn; the bytes are valid within the call.
    var onStun: (@Sendable (UnsafeRawBufferPointer, SocketAddress) -> Void)?

    private init(
        _ configuration: EndpointConfiguration, loop: any Loop, entropy: any Entropy
    ) throws(TLSFailure) {
        self.loop = loop
        unownedExecutor = loop.asUnownedSerialExecutor()
        self.configuration = configuration
        self.entropy = entropy
        node = configuration.secret.node
        credentials = try TLSCredentials(configuration.secret)
        resetKey = ResetKey(configuration.secret)
        statelessPackets = StatelessPackets(configuration.secret)
        admission = Admission(limits: configuration.admission)
    }

    /// Binds the sockets and starts listening (if protocols are accepted).
    ///
    /// A family that the system does not support is left out as long as another one works.
    package static func bind(
        _ configuration: EndpointConfiguration, network: any DatagramNetwork, loop: any Loop, entropy: any Entropy
    ) async throws(BindFailure) -> Endpoint {
        let endpoint: Endpoint
        do throws(TLSFailure) {
            endpoint = try Endpoint(configuration, loop: loop, entropy: entropy)
        } catch {
            throw .identity(error.description)
        }
        try await endpoint.open(network)
        return endpoint
    }

    private func open(_ network: any DatagramNetwork) throws(BindFailure) {
        var missing: SocketError?
        for address in configuration.addresses {
            do throws(SocketError) {
                listen(on: try network.bind(address, on: loop))
            } catch .familyNotSupported {
                missing = .familyNotSupported
            } catch {
                outlets.close()
                throw .socket(error)
            }
        }
        if outlets.sockets.isEmpty { throw .socket(missing ?? .familyNotSupported) }
    }

    private func listen(on socket: any DatagramSocket) {
        let index = outlets.sockets.count
        outlets.add(socket)
        // Strong on purpose: `close` takes the callbacks out and with them the cycle.
        socket.onReceive = { [self] datagrams in
            let datagrams = LoopBound(datagrams)
            assumeIsolated { $0.received(datagrams, on: index) }
        }
        socket.onUnreachable = { [self] address in
            assumeIsolated { $0.unreachable(address) }
        }
    }

    /// Where the sockets are bound, with the ports that were taken.
    package var localAddresses: [SocketAddress] { outlets.sockets.map(\.localAddress) }

    /// Uses another way to move packets beside the sockets. The endpoint keeps the carrier until `detach` or `close`.
    package func attach(_ carrier: sending any DatagramCarrier) -> CarrierID {
        let id = outlets.add(carrier)
        carrier.onReceive = { [self] packet, peer in
            let packet = LoopBound(packet)
            assumeIsolated { $0.received(packet, through: id, from: peer) }
        }
        return id
    }

    package func detach(_ carrier: CarrierID) {
        outlets.remove(carrier)
    }

    /// Takes STUN packets from now on.
    package func handleStun(_ handler: @escaping @Sendable (UnsafeRawBufferPointer, SocketAddress) -> Void) {
        onStun = handler
    }

    /// Numbers for status lines and tests.
    package var gauges: EndpointGauges {
        let known = demultiplexer.counts
        return EndpointGauges(
            connections: table.count, halfOpen: admission.halfOpen, strangers: admission.strangers,
            incoming: incoming.count, connectionIDs: known.local, resetTokens: known.resetTokens,
            retiredIDs: known.retired, counters: counters)
    }
}

/// What an endpoint has counted so far.
package struct EndpointCounters: Sendable, Equatable {
    /// Packets that were neither QUIC nor STUN, or belonged nowhere.
    package var noise: UInt64 = 0
    /// Packets for connections that were over.
    package var late: UInt64 = 0
    package var initialsDropped: UInt64 = 0
    package var retriesSent: UInt64 = 0
    package var resetsSent: UInt64 = 0
    package var resetsAccepted: UInt64 = 0
    package var strangersRefused: UInt64 = 0
}

/// How full an endpoint's tables are.
package struct EndpointGauges: Sendable, Equatable {
    package let connections: Int
    package let halfOpen: Int
    package let strangers: Int
    /// Complete and not accepted yet.
    package let incoming: Int
    package let connectionIDs: Int
    package let resetTokens: Int
    package let retiredIDs: Int
    package let counters: EndpointCounters
}
