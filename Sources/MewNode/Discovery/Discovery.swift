package import MewBase
import MewLoop
package import MewPath
import MewQUIC
import MewRelay
import MewWire

/// Asks the relays of a listening node where they see it: when it starts, after each change of the network, and when somebody
/// wants to know and the last answers are old. What to ask and what follows from the answers decides `NATSurvey`; this has the
/// endpoint's sockets and the time. Pinned to the endpoint's loop.
package actor Discovery {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: any Loop
    private let endpoint: Endpoint
    private let relays: [RelayURL]
    private let connector: any RelayConnector
    private let ownAddresses: @Sendable () -> [SocketAddress]
    private let entropy: any Entropy
    private let changed: @Sendable () -> Void

    /// What holds for the network as it is now.
    package private(set) var report = NATReport()
    /// What the last survey found, on whatever network.
    private var previous = NATReport()
    private var survey: NATSurvey?
    private var timer: LoopTimer?
    private var began: Instant?
    private var attempts: UInt64 = 0
    private var isStopped = false

    /// Mappings live 30 s and longer (RFC 4787 REQ-5 asks for two minutes): what was seen so long ago is still there.
    static let freshness: Duration = .seconds(20)

    /// - Parameters:
    ///   - connector: knows the addresses of relays.
    ///   - ownAddresses: of this machine, each with the port of its socket.
    ///   - changed: called on the loop when others can reach this node at other addresses than before.
    init(
        _ endpoint: Endpoint, relays: [RelayURL], connector: any RelayConnector, entropy: any Entropy,
        ownAddresses: @escaping @Sendable () -> [SocketAddress], changed: @escaping @Sendable () -> Void
    ) {
        loop = endpoint.loop
        unownedExecutor = endpoint.unownedExecutor
        (self.endpoint, self.relays, self.entropy) = (endpoint, relays, entropy)
        (self.connector, self.ownAddresses, self.changed) = (connector, ownAddresses, changed)
    }

    /// Where others may reach this node besides its own addresses. What each of them would see differently is left out.
    package var candidates: [SocketAddress] {
        [report.ipv6, report.ipv4].flatMap { $0.mapping.isPredictable == false ? [] : $0.reflexive }
    }

    /// Nothing is asked any more, and no answer is waited for.
    package var isSettled: Bool { survey?.isOver ?? false }

    // MARK: - When

    func start() async {
        await endpoint.handleStun { [weak self] packet in
            let (bytes, source) = (Array(packet.bytes), packet.from)
            self?.assumeIsolated { $0.heard(bytes, from: source) }
        }
        await begin()
    }

    /// What was found holds no more; whoever asks before there are answers is told nothing.
    func networkChanged() async {
        report = NATReport()
        await begin()
    }

    /// Asks again unless that was a moment ago.
    package func refresh() async {
        if let began, began.duration(to: loop.now) < Self.freshness { return }
        await begin()
    }

    func stop() {
        isStopped = true
        if let timer { loop.cancel(timer) }
        (timer, survey) = (nil, nil)
    }

    // MARK: - A survey

    private func begin() async {
        attempts += 1
        let attempt = attempts
        began = loop.now
        let servers = await servers()
        // Another change of the network may have been faster.
        guard attempt == attempts, !isStopped else { return }
        survey = NATSurvey(servers, own: ownAddresses(), previous: previous)
        look()
    }

    /// The first address of each family of each relay.
    private func servers() async -> [NATSurvey.Server] {
        var servers: [NATSurvey.Server] = []
        for relay in relays {
            var families: Set<SocketAddress.Family> = []
            for address in await connector.addresses(of: relay) where families.insert(address.family).inserted {
                servers.append(NATSurvey.Server(address))
            }
        }
        return servers
    }

    private func heard(_ bytes: [UInt8], from source: SocketAddress) {
        guard survey?.hear(bytes, from: source, now: loop.now, entropy: entropy) == true else { return }
        look()
    }

    private func look() {
        guard !isStopped else { return }
        let packets = survey?.look(now: loop.now, entropy: entropy) ?? []
        // The endpoint has the same loop.
        endpoint.assumeIsolated { endpoint in
            for packet in packets { endpoint.sendStray(packet.bytes, to: packet.to) }
        }
        if let timer { loop.cancel(timer) }
        timer = survey?.deadline.map { deadline in
            loop.schedule(at: deadline) { [weak self] in self?.assumeIsolated { $0.look() } }
        }
        note()
    }

    /// A family of which nothing is known yet keeps what was known before.
    private func note() {
        guard let survey else { return }
        let former = candidates
        for family in [SocketAddress.Family.ipv4, .ipv6] {
            let finding = survey.report[family]
            if finding.udp != .unknown || survey.isOver { report[family] = finding }
        }
        if survey.isOver { previous = report }
        if candidates != former { changed() }
    }
}
