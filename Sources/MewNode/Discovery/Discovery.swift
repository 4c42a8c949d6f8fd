package import MewBase
import MewLoop
package import MewPath
import MewQUIC
import MewRelay
package import MewWire

/// Asks relays where they see this node: those of a listening node when it starts and after each change of the network, those
/// through which a node dials when it does; and again when somebody wants to know and the last answers are old. What to ask and
/// what follows from the answers decides `NATSurvey`; this has the endpoint's sockets and the time. Pinned to the endpoint's loop.
package actor Discovery {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: any Loop
    private let endpoint: Endpoint
    private let relays: NodeRelays
    private let ownAddresses: @Sendable () -> [SocketAddress]
    private let entropy: any Entropy
    private let changed: @Sendable () -> Void

    /// Where to ask, in the order of preference.
    private var places: [RelayURL]
    /// They are those at which this node listens: others are not asked.
    private let isListening: Bool
    /// What holds for the network as it is now.
    package private(set) var report = NATReport()
    /// What the last survey found, on whatever network.
    private var previous = NATReport()
    private var state = State.idle
    private var timer: LoopTimer?
    private var began: Instant?
    /// How far the survey was when `changed` was called last.
    private var told = NATSurvey.Stage.over

    private enum State {
        case idle
        /// Names are looked up; the number tells this time from others.
        case preparing(UInt64)
        case surveying(NATSurvey)
        case stopped
    }

    private var attempts: UInt64 = 0
    /// The relay of each server that is asked.
    private var asked: [(relay: RelayURL, server: SocketAddress)] = []
    /// Who waits for the end of a survey.
    private var examiners: [CheckedContinuation<Void, Never>] = []

    /// Mappings live 30 s and longer (RFC 4787 REQ-5 asks for two minutes): what was seen so long ago is still there.
    static let freshness: Duration = .seconds(20)
    /// As many relays as a dial tries; each has an address of either family.
    static let maxPlaces = NodeRace.maxRelays

    /// - Parameters:
    ///   - places: the relays at which this node listens; none for one that only dials.
    ///   - ownAddresses: of this machine, each with the port of its socket.
    ///   - changed: called on the loop when there is something new to know, when the first answer has come, and when no more will.
    init(
        _ endpoint: Endpoint, _ relays: NodeRelays, at places: [RelayURL], entropy: any Entropy,
        ownAddresses: @escaping @Sendable () -> [SocketAddress], changed: @escaping @Sendable () -> Void
    ) {
        loop = endpoint.loop
        unownedExecutor = endpoint.unownedExecutor
        (self.endpoint, self.relays, self.entropy) = (endpoint, relays, entropy)
        (self.ownAddresses, self.changed) = (ownAddresses, changed)
        (self.places, isListening) = (places, !places.isEmpty)
    }

    package var stage: NATSurvey.Stage {
        switch state {
        case .idle, .stopped: .over
        case .preparing: .unanswered
        case .surveying(let survey): survey.stage
        }
    }

    // MARK: - When

    func start() async {
        await endpoint.handleStun { [weak self] packet in
            let (bytes, source) = (Array(packet.bytes), packet.from)
            self?.assumeIsolated { $0.heard(bytes, from: source) }
        }
        if isListening { begin() }
    }

    /// The peer that is dialled may be there: a node that listens nowhere asks these, soon enough for its first offer.
    func use(_ urls: [RelayURL]) {
        guard !isListening else { return }
        let new = urls.filter { !places.contains($0) }
        places = Array((new + places).prefix(Self.maxPlaces))
        if !new.isEmpty { begin() } else { _ = refresh() }
    }

    /// What was found holds no more; whoever asks before there are answers is told nothing.
    func networkChanged() {
        report = NATReport()
        begin()
    }

    /// Asks again unless that was a moment ago.
    ///
    /// - Returns: whether there will be an answer, or none, soon; `changed` tells then.
    package func refresh() -> Bool {
        if began.map({ $0.duration(to: loop.now) >= Self.freshness }) ?? true { begin() }
        note()
        return stage == .unanswered
    }

    /// What a survey found that asked everything, and how far each relay was by UDP.
    package struct Examination: Sendable {
        package let report: NATReport
        package let relays: [Relay]

        package struct Relay: Sendable {
            package let url: RelayURL
            package let address: SocketAddress
            /// To its STUN; nil when the first request got no answer.
            package let roundTrip: Duration?
        }
    }

    /// Asks everything anew, also what only a person wants to know. Takes some seconds at most: as long as a survey.
    package func examine() async -> Examination {
        begin(asksHairpin: true)
        if stage != .over { await withCheckedContinuation { examiners.append($0) } }
        let survey: NATSurvey? = if case .surveying(let survey) = state { survey } else { nil }
        return Examination(
            report: report,
            relays: asked.map { relay, server in
                Examination.Relay(url: relay, address: server, roundTrip: survey?.roundTrip(to: server))
            })
    }

    private func endExamination() {
        for examiner in examiners { examiner.resume() }
        examiners = []
    }

    func stop() {
        state = .stopped
        endExamination()
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    // MARK: - A survey

    private func begin(asksHairpin: Bool = false) {
        if case .stopped = state { return }
        guard !places.isEmpty else { return }
        attempts += 1
        began = loop.now
        state = .preparing(attempts)
        told = .unanswered
        // Somebody who waits for the whole answer has it from this survey, too.
        let isThorough = asksHairpin || !examiners.isEmpty
        loop.spawn { [attempts] in await self.prepare(attempts, asksHairpin: isThorough) }
    }

    private func prepare(_ attempt: UInt64, asksHairpin: Bool) async {
        let own = ownAddresses()
        let found = await servers(Set(own.map(\.family)))
        // Another change of the network may have been faster.
        guard case .preparing(let current) = state, current == attempt else { return }
        asked = found
        state = .surveying(
            NATSurvey(
                found.map { NATSurvey.Server($0.server) }, own: own, previous: previous, asksHairpin: asksHairpin))
        look()
    }

    /// The first address of each relay in each of the families that this machine has.
    private func servers(
        _ families: Set<SocketAddress.Family>
    ) async -> [(relay: RelayURL, server: SocketAddress)] {
        var servers: [(relay: RelayURL, server: SocketAddress)] = []
        for relay in places {
            var wanted = families
            for address in await relays.connector.addresses(of: relay) where wanted.remove(address.family) != nil {
                servers.append((relay, address))
            }
        }
        return servers
    }

    private func heard(_ bytes: [UInt8], from source: SocketAddress) {
        guard case .surveying(var survey) = state,
            survey.hear(bytes, from: source, now: loop.now, entropy: entropy)
        else { return }
        state = .surveying(survey)
        look()
    }

    private func look() {
        guard case .surveying(var survey) = state else { return }
        let packets = survey.look(now: loop.now, entropy: entropy)
        state = .surveying(survey)
        // The endpoint has the same loop.
        endpoint.assumeIsolated { endpoint in
            for packet in packets { endpoint.sendStray(packet.bytes, to: packet.to) }
        }
        if let timer { loop.cancel(timer) }
        timer = survey.deadline.map { deadline in
            loop.schedule(at: deadline) { [weak self] in self?.assumeIsolated { $0.look() } }
        }
        note()
    }

    private func note() {
        guard case .surveying(var survey) = state else { return }
        survey.note(present: relays.assumeIsolated { $0.stunAddresses })
        state = .surveying(survey)
        let former = report
        for family in [SocketAddress.Family.ipv4, .ipv6] {
            report[family] = survey.report[family].completed(by: survey.isOver ? nil : report[family])
        }
        if survey.isOver {
            previous = report
            endExamination()
        }
        guard report != former || survey.stage != told else { return }
        told = survey.stage
        changed()
    }
}

extension NATReport.Finding {
    /// Before a survey is over, what it does not know yet is as it was.
    ///
    /// - Parameter former: what was known before; nil when nothing more will be found out.
    fileprivate func completed(by former: Self?) -> Self {
        guard let former else { return self }
        guard udp != .unknown else { return former }
        var finding = self
        if finding.mapping == .unknown { finding.mapping = former.mapping }
        if finding.filtering == .unknown { finding.filtering = former.filtering }
        if finding.hairpin == .unknown { finding.hairpin = former.hairpin }
        return finding
    }
}
