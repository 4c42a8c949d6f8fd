package import MewBase
package import MewIdentity
package import MewLoop

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
    private var isDraining = false

    package init(
        _ settings: RelaySettings, on loop: any Loop, entropy: any Entropy,
        diagnostics: any DiagnosticSink = NoDiagnostics()
    ) {
        self.loop = loop
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

    /// What was counted, and what is there now.
    package var metrics: RelayMetrics { hub.snapshot }

    /// For connections that come from now on.
    package func replace(identity: TLSIdentity) {
        hub.identity = identity
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
    }
}
