package import MewBase
package import MewIdentity
package import MewLoop
package import MewQUIC
internal import MewQUICCore

/// What a relay is started with.
package struct RelaySettings: Sendable {
    package var limits = RelayLimits()
    package var rules = AccessRules.everyone
    /// For the listeners with TLS.
    package var identity: TLSIdentity?
    /// The relay's own key, which its URL may pin; without it nothing is proved.
    package var secret: SecretKey?
    package var programVersion: String

    package init(programVersion: String) {
        self.programVersion = programVersion
    }
}

/// A relay: passes packets between nodes that cannot reach one another, answers where a node is, and knows nothing of what it
/// passes (DESIGN §7, spec/iroh-wire.md §4).
package actor RelayServer {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: any Loop
    private let hub: RelayHub
    private let entropy: any Entropy
    /// For HTTP/3.
    private var endpoint: Endpoint?
    private var isDraining = false

    package init(
        _ settings: RelaySettings, on loop: any Loop, entropy: any Entropy,
        diagnostics: any DiagnosticSink = NoDiagnostics()
    ) {
        self.loop = loop
        self.entropy = entropy
        unownedExecutor = loop.asUnownedSerialExecutor()
        hub = RelayHub(settings, on: loop, entropy: entropy, diagnostics: diagnostics)
    }

    /// Listens on one more address.
    ///
    /// - Parameter sealed: with TLS; the settings must hold an identity.
    /// - Returns: where it listens, with the port that was taken.
    @discardableResult
    package func listen(
        _ address: SocketAddress, sealed: Bool = false, network: any StreamNetwork = KernelStreamNetwork()
    ) throws(SocketError) -> SocketAddress {
        precondition(!sealed || hub.identity != nil, "TLS needs a certificate")
        return try hub.listen(address, sealed: sealed, network)
    }

    /// Answers STUN on UDP, on a port that is to have the number of a TCP port.
    @discardableResult
    package func answerStun(
        _ address: SocketAddress, network: any DatagramNetwork = KernelNetwork()
    ) throws(SocketError) -> SocketAddress {
        try hub.answerStun(address, network)
    }

    /// Gives a UDP port back that one of the two others took.
    package func stopAnswering(_ address: SocketAddress) { hub.stopAnswering(address) }

    /// Answers STUN on the other port, and there probes for address discovery with a refusal, so that iroh endpoints are online
    /// at once (spec/iroh-wire.md §4.9).
    @discardableResult
    package func answerProbes(
        _ address: SocketAddress, network: any DatagramNetwork = KernelNetwork()
    ) throws(SocketError) -> SocketAddress {
        try hub.answerProbes(address, network)
    }

    /// Listens for HTTP/3 on these addresses (ARCHITECTURE.md, "Relay over HTTP/3"). Once. Where STUN is answered on one of them
    /// already, both have one socket from now on.
    ///
    /// - Returns: where it listens, with the ports that were taken.
    @discardableResult
    package func listenHTTP3(
        _ addresses: [SocketAddress], network: any DatagramNetwork = KernelNetwork()
    ) async throws(BindFailure) -> [SocketAddress] {
        precondition(endpoint == nil, "one endpoint for all addresses")
        let front = HTTP3Front(hub)
        let shared = addresses.filter { address in hub.stun.doors.contains { $0.address == address } }
        for address in shared { hub.stopAnswering(address) }
        let endpoint: Endpoint
        do throws(BindFailure) {
            endpoint = try await Endpoint.bind(
                front.configuration(addresses), network: network, loop: loop, entropy: entropy)
        } catch {
            for address in shared { answerStunAgain(address, network) }
            throw error
        }
        self.endpoint = endpoint
        await endpoint.serve(front)
        if !shared.isEmpty { await answerStun(at: shared, by: endpoint) }
        return await endpoint.localAddresses
    }

    private func answerStunAgain(_ address: SocketAddress, _ network: any DatagramNetwork) {
        do throws(SocketError) {
            _ = try hub.answerStun(address, network)
        } catch {
            hub.diagnostics.record(
                Diagnostic(.warning, "relay", "stun_failed", "STUN is not answered on UDP \(address): \(error)"))
        }
    }

    private func answerStun(at addresses: [SocketAddress], by endpoint: Endpoint) async {
        for address in addresses {
            hub.stun.add(
                StunDoors.Door(
                    port: .main, address: address,
                    // The endpoint has the same loop, and flushes at the end of the turn.
                    send: { bytes, to, from in
                        endpoint.assumeIsolated { $0.sendStray(bytes, to: to, from: from) }
                    }, flush: {}))
        }
        await endpoint.handleStun { [weak self] packet in
            let (bytes, from, to) = (Array(packet.bytes), packet.from, packet.to)
            self?.assumeIsolated { $0.heard(bytes, from: from, to: to) }
        }
    }

    private func heard(_ bytes: [UInt8], from source: SocketAddress, to local: SocketAddress?) {
        guard let local else { return }
        bytes.withUnsafeBytes { hub.stun.hear($0, at: .main, from: source, to: local, now: loop.now) }
        hub.stun.flush()
    }

    /// What was counted, and what is there now.
    package var metrics: RelayMetrics { hub.snapshot }

    /// For connections that come from now on.
    package func replace(identity: TLSIdentity) async {
        hub.identity = identity
        do throws(BindFailure) {
            try await endpoint?.replace(authentication: .anonymousClients(identity.store))
        } catch {
            hub.diagnostics.record(
                Diagnostic(.error, "relay", "certificate_failed", "HTTP/3 goes on with the old certificate: \(error)"))
        }
    }

    package var rules: AccessRules { hub.rules }

    /// For clients that come from now on, and for those that are there: who may no more is told and ended.
    package func replace(rules: AccessRules) {
        hub.replace(rules: rules)
    }

    /// Ends in order: no new connections, every client is told when to come back, and what was said may leave. Takes at most
    /// the drain time of the limits. Idempotent.
    package func drain() async {
        guard !isDraining else { return }
        isDraining = true
        hub.stopListening()
        hub.sayGoodbye()
        let timer = loop.schedule(at: loop.now.advanced(by: hub.limits.drain)) { [hub] in hub.dropAll() }
        await withCheckedContinuation { hub.empty($0) }
        loop.cancel(timer)
        await endpoint?.close(code: HTTP3Front.noError, reason: "the relay ends")
    }
}
