package import MewBase

/// Asks the STUN servers of relays where they see this node, and makes a `NATReport` of the answers. A value: whoever has the
/// node's socket sends what it says, and tells it what comes.
///
/// A server is asked on its main port first, and when that has not answered for a second on its alternate one as well. The first
/// of a family that answers before that and has another port is then asked to answer from that one, before anything is sent
/// there, or the routers would let it in for that; only then is the other port asked itself. Of the others only the mapping is
/// wanted: they are asked on both ports at once.
package struct NATSurvey: Sendable {
    /// One address of one relay.
    package struct Server: Hashable, Sendable {
        /// With the main port.
        package let address: SocketAddress
        /// Asked when the main one does not answer.
        package let alternatePort: UInt16

        /// The port of a relay that says nothing else.
        package static let usualAlternatePort: UInt16 = 7_842

        package init(_ address: SocketAddress, alternatePort: UInt16 = usualAlternatePort) {
            (self.address, self.alternatePort) = (address, alternatePort)
        }
    }

    package struct Packet: Hashable, Sendable {
        package let bytes: [UInt8]
        package let to: SocketAddress
    }

    fileprivate enum Aim: Sendable {
        case main
        /// The alternate port: the main one has been silent for a while.
        case fallback
        case otherPort
        /// The main port, for an answer from the other one.
        case filtering(from: SocketAddress)
        /// Where servers see this node: the question itself has to come back.
        case hairpin
    }

    private struct Question: Sendable {
        let server: Server
        let aim: Aim
        let to: SocketAddress
        let request: StunRequest
        let asked: Instant
        var sent = 0
    }

    /// Servers of one family that are asked: two addresses say what there is to say, and one may be down.
    package static let maxServers = 3
    /// From the first request on. RFC 8489 §6.2.1 begins with 500 ms and goes on for 39.5 s: nobody waits so long here.
    static let times: [Duration] = [.zero, .milliseconds(250), .milliseconds(750), .milliseconds(1_750)]
    /// When there is no answer any more; to the last request half as long as RFC 8489's Rm would be.
    static let patience: Duration = .seconds(3)
    /// When the alternate port is asked too: the main one has been asked three times. It is given up together with it, so that
    /// whoever is asked why a link is not direct knows after three seconds that nothing comes back.
    static let fallbackDelay: Duration = .seconds(1)
    /// The same of a question whose answer mostly does not come, and which delays another. The way is known to work.
    static let filteringPatience: Duration = .milliseconds(1_750)
    /// The next router is near.
    static let hairpinPatience: Duration = .seconds(1)

    private let own: Set<SocketAddress>
    private let previous: NATReport
    private let asksHairpin: Bool
    private var questions: [Question] = []
    private var evidence: [SocketAddress.Family: SurveyEvidence] = [:]
    /// The server of each family that is asked about filtering, or was.
    private var probed: [SocketAddress.Family: Server] = [:]
    /// Its question got no answer: if the other port answers for itself, routers have kept it out.
    private var isShut: Set<SocketAddress.Family> = []
    private var unasked: [Server]
    private var roundTrips: [SocketAddress: Duration] = [:]
    /// Servers whose alternate port was asked because the main one was silent.
    private var fallenBack: Set<SocketAddress> = []
    /// TCP reaches these by their family, and they are known to answer STUN: their silence means that UDP is blocked.
    private var present: Set<SocketAddress> = []

    /// - Parameters:
    ///   - servers: in the order of preference; of each family the first three are asked.
    ///   - own: addresses of this machine, each with the port of the socket that asks.
    ///   - previous: of an earlier survey from the same socket. Mappings may live on, and with them the leave to enter that it
    ///     got; what a server saw before and sees still keeps the filtering that was found then.
    ///   - asksHairpin: whether routers send back what goes to where they show this node.
    package init(
        _ servers: [Server], own: [SocketAddress], previous: NATReport = NATReport(), asksHairpin: Bool = false
    ) {
        self.asksHairpin = asksHairpin
        var counts: [SocketAddress.Family: Int] = [:]
        unasked = servers.filter { server in
            counts[server.address.family, default: 0] += 1
            return counts[server.address.family, default: 0] <= Self.maxServers
        }
        self.own = Set(own)
        self.previous = previous
    }

    // MARK: - What it knows

    /// What is known by now.
    package var report: NATReport {
        var report = NATReport()
        for (family, evidence) in evidence {
            let isAsking = questions.contains { $0.to.family == family }
            report[family] = evidence.finding(own: own, present: present, isOver: !isAsking)
        }
        return report
    }

    /// These relays answer STUN, and TCP reaches them: at the addresses of servers. Also when the survey is over.
    package mutating func note(present: Set<SocketAddress>) { self.present = present }

    package enum Stage: Hashable, Sendable {
        /// Nobody has answered yet, and somebody may.
        case unanswered
        case answered
        /// Nothing will be asked any more, and no answer is waited for.
        case over
    }

    package var stage: Stage {
        if isOver { return .over }
        return evidence.values.allSatisfy { $0.observations.isEmpty } ? .unanswered : .answered
    }

    /// To the main port of a server; of those that answered the first request.
    package func roundTrip(to server: SocketAddress) -> Duration? { roundTrips[server] }

    package var isOver: Bool { unasked.isEmpty && questions.isEmpty }

    // MARK: - Time

    /// When `look` has something to do again; nil before the first call, and when it is over.
    package var deadline: Instant? {
        questions.map(nextTime).min()
    }

    private func nextTime(of question: Question) -> Instant {
        let patience = question.aim.patience
        let next = question.sent < Self.times.count ? min(Self.times[question.sent], patience) : patience
        let time = question.asked.advanced(by: next)
        return mayFallBack(question) ? min(time, question.asked.advanced(by: Self.fallbackDelay)) : time
    }

    private func mayFallBack(_ question: Question) -> Bool {
        guard case .main = question.aim, !fallenBack.contains(question.to) else { return false }
        return question.server.alternatePort != question.to.port
    }

    /// What is to be sent now. Called first when it begins, then at each deadline and after each answer.
    package mutating func look(now: Instant, entropy: some Entropy) -> [Packet] {
        for server in unasked { ask(server, .main, at: server.address, now, entropy) }
        unasked = []
        fallBack(now, entropy)
        giveUp(now, entropy)
        var packets: [Packet] = []
        for index in questions.indices {
            let question = questions[index]
            guard question.sent < Self.times.count, question.asked.advanced(by: Self.times[question.sent]) <= now else {
                continue
            }
            questions[index].sent += 1
            packets.append(Packet(bytes: questions[index].request.encoded, to: questions[index].to))
        }
        return packets
    }

    private mutating func ask(
        _ server: Server, _ aim: Aim, at address: SocketAddress, _ now: Instant, _ entropy: some Entropy
    ) {
        if evidence[address.family] == nil { evidence[address.family] = SurveyEvidence() }
        let request = StunRequest(transaction: TransactionID(random: entropy), origin: aim.origin)
        questions.append(Question(server: server, aim: aim, to: address, request: request, asked: now))
    }

    private mutating func fallBack(_ now: Instant, _ entropy: some Entropy) {
        for question in questions
        where mayFallBack(question) && question.asked.duration(to: now) >= Self.fallbackDelay {
            fallenBack.insert(question.to)
            ask(question.server, .fallback, at: question.to.with(port: question.server.alternatePort), now, entropy)
        }
    }

    private mutating func giveUp(_ now: Instant, _ entropy: some Entropy) {
        let over = questions.filter { $0.asked.duration(to: now) >= $0.aim.patience }
        questions.removeAll { $0.asked.duration(to: now) >= $0.aim.patience }
        for question in over { wasSilent(question, now, entropy) }
    }

    private mutating func wasSilent(_ question: Question, _ now: Instant, _ entropy: some Entropy) {
        let server = question.server
        switch question.aim {
        case .filtering(let other):
            isShut.insert(other.family)
            ask(server, .otherPort, at: other, now, entropy)
        case .hairpin: evidence[question.to.family]?.hairpin = .fails
        case .main, .fallback, .otherPort:
            // Whether another of its ports has answered is seen from the evidence.
            evidence[server.address.family]?.silent.insert(server.address)
        }
    }

    // MARK: - Answers

    /// Takes a packet that the node's socket received. Call `look` afterwards.
    ///
    /// - Returns: false when it answers nothing that was asked here.
    package mutating func hear(_ bytes: [UInt8], from source: SocketAddress, now: Instant, entropy: some Entropy)
        -> Bool
    {
        if cameBack(bytes) { return true }
        guard let reply = StunReply.read(bytes),
            let index = questions.firstIndex(where: { $0.request.transaction == reply.transaction }),
            case let (to, wanted) = (questions[index].to, questions[index].aim.origin(questions[index].to)),
            source == to || source == wanted
        else { return false }
        let question = questions.remove(at: index)
        switch reply.content {
        case .success(let seen) where source == wanted: answered(question, seen, now, entropy)
        // A server that does not know how to answer from another port says so, or answers from the same.
        case .success, .failure: refused(question, now, entropy)
        }
        return true
    }

    /// Our own question, sent to where we are seen.
    private mutating func cameBack(_ bytes: [UInt8]) -> Bool {
        let index = questions.firstIndex { question in
            guard case .hairpin = question.aim else { return false }
            return question.request.encoded == bytes
        }
        guard let index else { return false }
        evidence[questions.remove(at: index).to.family]?.hairpin = .works
        return true
    }

    private mutating func askHairpin(
        _ server: Server, _ mapped: SocketAddress, _ now: Instant, _ entropy: some Entropy
    ) {
        let isAsked = questions.contains { question in
            if case .hairpin = question.aim { question.to.family == mapped.family } else { false }
        }
        guard asksHairpin, !own.contains(mapped), !isAsked, evidence[mapped.family]?.hairpin == .unknown else { return }
        ask(server, .hairpin, at: mapped, now, entropy)
    }

    private mutating func answered(
        _ question: Question, _ seen: StunReply.Seen, _ now: Instant, _ entropy: some Entropy
    ) {
        let family = question.to.family
        // Nobody else can reach us there: a relay on this machine, or one that makes things up.
        guard seen.mapped.canBeDialled, !seen.mapped.isLoopback, seen.mapped.family == family else {
            return refused(question, now, entropy)
        }
        askHairpin(question.server, seen.mapped, now, entropy)
        switch question.aim {
        case .hairpin: break
        case .main:
            evidence[family]?.saw(seen.mapped, at: question.to)
            if question.sent == 1 { roundTrips[question.to] = question.asked.duration(to: now) }
            goOn(question.server, seen, now, entropy)
        case .filtering(let other):
            evidence[family]?.filtering = .open
            ask(question.server, .otherPort, at: other, now, entropy)
        case .fallback:
            evidence[family]?.saw(seen.mapped, at: question.to)
        case .otherPort:
            evidence[family]?.saw(seen.mapped, at: question.to)
            if isShut.contains(family), probed[family] == question.server {
                evidence[family]?.filtering = .dependsOnPort
            }
        }
    }

    /// What there is to ask of a server that answered: only one at the same address says something about routers.
    private mutating func goOn(_ server: Server, _ seen: StunReply.Seen, _ now: Instant, _ entropy: some Entropy) {
        let (family, main) = (server.address.family, server.address)
        guard let other = seen.other, other.with(port: 0) == main.with(port: 0), other.port != main.port,
            other.port != 0
        else { return }
        // What was sent there lets in what comes from there.
        if fallenBack.contains(main) {
            if other.port != server.alternatePort { ask(server, .otherPort, at: other, now, entropy) }
            return
        }
        if previous[family].filtering != .unknown, wasSeen(seen.mapped) {
            evidence[family]?.filtering = previous[family].filtering
            if probed[family] == nil { probed[family] = server }
        }
        if probed[family] == nil {
            probed[family] = server
            ask(server, .filtering(from: other), at: main, now, entropy)
        } else {
            ask(server, .otherPort, at: other, now, entropy)
        }
    }

    private func wasSeen(_ mapped: SocketAddress) -> Bool {
        previous[mapped.family].reflexive.contains(mapped)
            || (own.contains(mapped) && previous[mapped.family].mapping == .none)
    }

    /// It is there, and does not tell.
    private mutating func refused(_ question: Question, _ now: Instant, _ entropy: some Entropy) {
        switch question.aim {
        case .main, .fallback, .otherPort, .hairpin: break
        case .filtering(let other): ask(question.server, .otherPort, at: other, now, entropy)
        }
    }
}

extension NATSurvey.Aim {
    fileprivate var origin: StunRequest.Origin {
        switch self {
        case .main, .fallback, .otherPort, .hairpin: .same
        case .filtering: .otherPort
        }
    }

    fileprivate var patience: Duration {
        switch self {
        case .main, .otherPort: NATSurvey.patience
        case .fallback: NATSurvey.patience - NATSurvey.fallbackDelay
        case .filtering: NATSurvey.filteringPatience
        case .hairpin: NATSurvey.hairpinPatience
        }
    }

    /// From where the answer is wanted.
    fileprivate func origin(_ asked: SocketAddress) -> SocketAddress {
        switch self {
        case .main, .fallback, .otherPort, .hairpin: asked
        case .filtering(let other): other
        }
    }
}
