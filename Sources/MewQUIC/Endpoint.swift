package import MewBase
package import MewIdentity
package import MewLoop
package import MewQUICCore

/// One node's presence on the network: listens and dials on the same UDP sockets, one per address family.
///
/// Pinned to its loop, like all its connections: a packet is read, handled and answered within one turn. What happens in
/// turns is the work of the `EndpointDriver`; this actor lends it to tasks.
///
/// Whoever starts an endpoint closes it (`close`): its sockets and connections refer to it until then.
package actor Endpoint {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    package nonisolated let loop: any Loop
    package nonisolated let node: NodeID
    let driver: EndpointDriver

    private init(_ driver: LoopBound<EndpointDriver>) {
        loop = driver.value.loop
        unownedExecutor = loop.asUnownedSerialExecutor()
        node = driver.value.configuration.secret.node
        self.driver = driver.value
    }

    /// Binds the sockets and starts listening (if protocols are accepted).
    ///
    /// A family that the system does not support is left out as long as another one works.
    package static func bind(
        _ configuration: EndpointConfiguration, network: any DatagramNetwork, loop: any Loop, entropy: any Entropy
    ) async throws(BindFailure) -> Endpoint {
        let driver: EndpointDriver
        do throws(TLSFailure) {
            driver = try EndpointDriver(configuration, loop: loop, entropy: entropy)
        } catch {
            throw .identity(error.description)
        }
        let endpoint = Endpoint(LoopBound(driver))
        try await endpoint.open(network)
        return endpoint
    }

    private func open(_ network: any DatagramNetwork) throws(BindFailure) {
        try driver.open(network)
    }

    /// Where the sockets are bound, with the ports that were taken.
    package var localAddresses: [SocketAddress] { driver.outlets.sockets.map(\.localAddress) }

    /// Uses another way to move packets beside the sockets. The endpoint keeps the carrier until `detach` or `close`.
    package func attach(_ carrier: sending any DatagramCarrier) -> CarrierID {
        driver.attach(carrier)
    }

    package func detach(_ carrier: CarrierID) {
        driver.outlets.remove(carrier)
    }

    /// True while packets of a connection leave by `carrier`.
    package func isUsing(_ carrier: CarrierID) -> Bool {
        driver.table.all.contains { connection in
            guard case .carried(carrier, _)? = connection.pathState?.route else { return false }
            return true
        }
    }

    /// Takes STUN packets of no connection from now on. The handler runs on the loop.
    package func handleStun(_ handler: @escaping @Sendable (StrayStun) -> Void) {
        driver.onStun = handler
    }

    /// Gives every connection that is accepted from now on to `acceptor`, within the turn in which its handshake is complete;
    /// `accept` returns none of them. The endpoint keeps it until `close`.
    package func serve(_ acceptor: any DirectAcceptor) {
        driver.directAcceptor = acceptor
    }

    /// What the endpoint shows from now on, for new connections.
    package func replace(authentication: EndpointAuthentication) throws(BindFailure) {
        do throws(TLSFailure) {
            driver.credentials = try TLSCredentials(driver.configuration.secret, authentication)
        } catch {
            throw .identity(error.description)
        }
    }

    /// Sends one packet that belongs to no connection.
    ///
    /// - Parameter source: the address of ours to leave from, with the port of the socket; nil lets the endpoint choose.
    package func sendStray(_ packet: [UInt8], to address: SocketAddress, from source: SocketAddress? = nil) {
        driver.sendStray(packet, to: address, from: source)
    }

    /// Numbers for status lines and tests.
    package var gauges: EndpointGauges { driver.gauges }

    /// The next peer whose handshake is complete; nil once the endpoint is closed or the task is cancelled.
    ///
    /// The peer is restricted until the owner calls `authorize` on the connection, and is dropped when nobody does in time.
    package func accept() async -> Connection? {
        while true {
            if !driver.incoming.isEmpty { return Connection(LoopBound(driver.incoming.removeFirst())) }
            if driver.isClosing || Task.isCancelled { return nil }
            await driver.waiters.wait(
                in: driver.acceptors, unless: { !driver.incoming.isEmpty || driver.isClosing })
        }
    }

    // MARK: - The end

    /// Takes nothing new, tells every peer `code` and `reason`, and closes the sockets. What was not delivered yet is lost.
    /// A second call returns at once.
    ///
    /// - Parameters:
    ///   - linger: how long to stay and repeat the close to peers that missed it and still send; no longer than needed when there
    ///     was no connection.
    ///   - carriers: ends what carries packets of this endpoint by connections of it, which are kept until then.
    package func close(
        code: UInt64, reason: String, linger: Duration = .milliseconds(300),
        carriers: sending () async -> Void = {}
    ) async {
        guard !driver.isClosing else { return }
        let hadConnections = driver.table.count > 0
        driver.beginClosing(code: code, reason: reason)
        if hadConnections { await pause(linger) }
        await carriers()
        driver.closeSockets()
    }

    /// Suspends for `time`; a cancelled task goes on at once.
    private func pause(_ time: Duration) async {
        let deadline = loop.now.advanced(by: time)
        let sleepers = WaitList()
        let timer = loop.schedule(at: deadline) { [waiters = driver.waiters] in waiters.resumeAll(sleepers) }
        await driver.waiters.wait(in: sleepers, unless: { loop.now >= deadline })
        loop.cancel(timer)
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
    package var callsSent: UInt64 = 0
    /// That a peer wrote, and that were not for us.
    package var pathMessagesHeard: UInt64 = 0
    package var pathMessagesIgnored: UInt64 = 0
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
