internal import MewBase
internal import MewHTTP3
internal import MewIdentity
internal import MewLoop
internal import MewQUIC
internal import MewQUICCore
internal import MewWire

/// A client's conversation with a relay over HTTP/3, from the request to its end: what is done in the turns of the loop. Who waits
/// for it is another matter.
///
///     connected ──▶ asked ──▶ serving ──▶ over
///         │           │          │          ▲
///         └───────────┴──────────┴──────────┘
///
/// Touched on the loop's thread only; held by its connection until that ends.
final class HTTP3Leg: DirectHandler {
    private enum Stage {
        /// The request has gone out on that stream; nothing is known of the relay yet.
        case asked(CapsuleLink)
        /// It has answered that it lets us in, and what it can do.
        case serving(CapsuleLink, RelayWelcome)
        case over
    }

    /// What happened, for the owner; called within a turn.
    enum Happening: Equatable {
        /// The relay forwards for us.
        case welcomed(RelayWelcome)
        case ponged(UInt64)
        /// What was sent some time ago is not acknowledged.
        case unanswered
        case gone(NodeID)
        case health(RelayHealth)
        case warned(returnIn: Duration, reason: String)
        /// The end.
        case ended(HTTP3LegEnd)
    }

    /// Who we are to the relay.
    struct Identity {
        /// What it calls us by.
        let secret: SecretKey
        /// On whose account we come; nil unless it is asked for.
        var account: SecretKey?
        var isGuest = false
        var token: String?
    }

    private let pump: HTTP3Pump
    private let loop: any Loop
    private var stage: Stage
    private var takesDatagrams = false
    private var hasSettings = false
    private var acceptance: HTTP3Head?
    private var welcome: RelayWelcome?
    private let queue: PacketLanes
    /// Set by the owner; they refer to it, until the end.
    var onHappening: ((Happening) -> Void)?
    var onPacket: ((UnsafeRawBufferPointer, NodeID) -> Void)?
    var onRoom: (() -> Void)?
    private var isWaitedFor = false
    /// Runs while it is not known whether the relay has what was sent.
    private var watch: LoopTimer?

    /// What we let a relay bind, and bind ourselves at most: as many as a node has connections and strangers together.
    private static let handles = 1_024

    /// Sends the request.
    ///
    /// - Returns: nil when the relay allows no streams or shares no keying material: then it is none of ours.
    init?(over connection: DirectConnection, as identity: Identity, at authority: String, on loop: any Loop) {
        let material = connection.export(
            label: RelayTLSProof.exporterLabel, byteCount: RelayTLSProof.exporterByteCount)
        guard let material, let pump = try? HTTP3Pump(.client, over: connection) else { return nil }
        self.pump = pump
        self.loop = loop
        queue = PacketLanes(
            .init(packets: LegOutput.maxPackets, bytes: LegOutput.maxBytes, answers: LegOutput.maxAnswers))
        stage = .over
        guard pump.start(), let stream = connection.openStream(.bidirectional) else { return nil }
        let head = Self.request(identity, authority, keyingMaterial: material)
        pump.perform { () throws(HTTP3Failure) in try pump.core.request(head, on: stream, staysOpen: true) }
        guard !pump.isBroken else { return nil }
        let link = CapsuleLink(
            on: stream, of: pump, handles: Self.handles, accepts: Self.handles, queue: queue, loop: loop)
        link.onLeft = { [unowned self] in tellOfRoom() }
        stage = .asked(link)
        connection.attach(self)
        pump.flush()
    }

    private static func request(_ identity: Identity, _ authority: String, keyingMaterial: [UInt8]) -> HTTP3Head {
        var head = HTTP3Head([
            (":method", "CONNECT"), (":protocol", RelayCapsule.protocolName), (":scheme", "https"),
            (":authority", authority), (":path", "/relay"), ("capsule-protocol", "?1"),
        ])
        let name = RelayTLSProof(identity.secret, for: .name, keyingMaterial: keyingMaterial)
        head.append(RelayTLSProof.nameFieldName, name.fieldValue)
        if identity.isGuest { head.append(RelayNodeProof.guestFieldName, "1") }
        if let account = identity.account {
            let proof = RelayTLSProof(
                account, for: .account(of: identity.secret.node), keyingMaterial: keyingMaterial)
            head.append(RelayTLSProof.accountFieldName, proof.fieldValue)
        }
        if let token = identity.token { head.append("authorization", "Bearer \(token)") }
        return head
    }

    private var link: CapsuleLink? {
        switch stage {
        case .asked(let link), .serving(let link, _): link
        case .over: nil
        }
    }

    // MARK: - What the owner does

    var isServing: Bool { if case .serving = stage { true } else { false } }

    /// False: what is sent now may be dropped, and `onRoom` is called when that has changed.
    func hasRoom(for peer: UInt64) -> Bool {
        guard isServing else { return true }
        if queue.hasRoomForBurst(of: peer) { return true }
        _ = queue.expire(for: peer, now: loop.now)
        if queue.hasRoomForBurst(of: peer) { return true }
        isWaitedFor = true
        return false
    }

    private func tellOfRoom() {
        guard isWaitedFor else { return }
        isWaitedFor = false
        onRoom?()
    }

    /// Sends packets of one size, the last may be shorter; each may be dropped.
    func send(_ packets: LegPackets, to node: NodeID, numbered peer: UInt64) {
        guard case .serving(let link, let welcome) = stage else { return }
        let size = max(1, packets.segmentSize)
        for start in stride(from: 0, to: packets.bytes.count, by: size) {
            let packet = UnsafeRawBufferPointer(
                rebasing: packets.bytes[start..<min(start + size, packets.bytes.count)])
            guard packet.count <= welcome.maxPacketBytes else { continue }
            _ = link.send(packet, about: node, of: peer)
        }
        watchForAnswers()
    }

    func ping(_ value: UInt64) { link?.say(.ping(value)) }

    /// Says goodbye. Nothing is heard of it any more.
    func close() {
        (onHappening, onPacket, onRoom) = (nil, nil, nil)
        link?.say(.close(code: RelayCloseCode.done.rawValue, reason: ""))
        finish()
    }

    private func finish() {
        stage = .over
        if let watch { loop.cancel(watch) }
        watch = nil
        _ = queue.removeAll()
        pump.connection.close(code: HTTP3Failure.noError, reason: "")
        tellOfRoom()
    }

    private func end(_ end: HTTP3LegEnd) {
        if case .over = stage { return }
        finish()
        let tell = onHappening
        (onHappening, onPacket, onRoom) = (nil, nil, nil)
        tell?(.ended(end))
    }

    // MARK: - Silence

    /// QUIC repeats what is not acknowledged, and does not say that nothing is.
    private func watchForAnswers() {
        guard watch == nil else { return }
        look(at: loop.now.advanced(by: patience))
    }

    /// As long as a relay is trusted that carries a connection (`PathSelector`).
    private var patience: Duration { max(.milliseconds(500), pump.connection.probeTimeout * 2) }

    private func look(at time: Instant) {
        watch = loop.schedule(at: time) { [weak self] in self?.look() }
    }

    private func look() {
        watch = nil
        guard isServing, let since = pump.connection.unansweredSince else { return }
        let due = since.advanced(by: patience)
        guard due <= loop.now else { return look(at: due) }
        onHappening?(.unanswered)
    }

    // MARK: - What QUIC tells

    func established() {}

    func readable(_ stream: Int64) {
        pump.read(stream)
        for event in pump.core.takeEvents() { take(event) }
        if pump.isBroken { end(.violation("the relay broke HTTP/3")) }
        pump.flush()
    }

    func writable(_ stream: Int64) { pump.unblock(stream) }

    func received(datagram: UnsafeRawBufferPointer) {
        guard case .serving(let link, _) = stage, let (stream, payload) = HTTPDatagram.read(datagram),
            stream == link.stream
        else { return }
        deliver(payload, of: link)
    }

    private func deliver(_ payload: UnsafeRawBufferPointer, of link: CapsuleLink) {
        guard let (node, packet) = link.incoming.read(payload) else { return }
        onPacket?(packet, node)
    }

    func ended(_ closure: QUICClosure) { end(.connection(closure)) }

    // MARK: - Events

    private func take(_ event: HTTP3Event) {
        guard let link else { return }
        switch event {
        case .settings(let takesDatagrams):
            self.takesDatagrams = takesDatagrams
            hasSettings = true
            link.takesDatagrams = takesDatagrams
            begin()
        case .head(link.stream, let head): answered(head)
        case .data(link.stream, let bytes): takeCapsules(bytes, of: link)
        case .ended(link.stream): end(.closed(code: RelayCloseCode.done.rawValue, reason: ""))
        case .broken(link.stream, _), .headTooLarge(link.stream): end(.violation("the relay gave the request up"))
        case .head, .data, .ended, .broken, .headTooLarge, .goingAway: break
        }
    }

    private func answered(_ head: HTTP3Head) {
        guard let status = head.status else { return }
        switch status {
        case 100..<200: break
        case 200..<300:
            acceptance = head
            begin()
        default:
            end(.refused(status: status, wantsAccount: head[RelayNodeProof.fieldName] != nil))
        }
    }

    private func takeCapsules(_ bytes: [UInt8], of link: CapsuleLink) {
        // What stands behind an answer that is no yes is a page for people.
        guard acceptance != nil else { return }
        do throws(RelayCapsuleError) {
            try link.receive(bytes) { take($0, of: link) }
        } catch {
            end(.violation("the relay sent \(error)"))
        }
    }

    private func take(_ capsule: RelayCapsule, of link: CapsuleLink) -> Bool {
        switch capsule {
        case .datagram(let payload): payload.withUnsafeBytes { deliver($0, of: link) }
        case .welcome(let welcome):
            self.welcome = welcome
            begin()
        case .ping(let value): link.say(.pong(value))
        case .pong(let value): onHappening?(.ponged(value))
        case .gone(let node): onHappening?(.gone(node))
        case .health(let health): onHappening?(.health(health))
        case .warning(_, let returnInMs, let reason):
            onHappening?(.warned(returnIn: .milliseconds(Int64(clamping: returnInMs)), reason: reason))
        case .close(let code, let reason):
            end(.closed(code: code, reason: reason))
            return false
        case .bind, .bound, .release: break
        }
        return true
    }

    /// A 2xx answer, its welcome and SETTINGS_H3_DATAGRAM are the proof that the relay speaks this protocol: nghttp3 1.8 does not
    /// tell a client of SETTINGS_ENABLE_CONNECT_PROTOCOL.
    private func begin() {
        guard case .asked(let link) = stage, acceptance != nil, hasSettings, let welcome else { return }
        guard takesDatagrams else { return end(.violation("the relay takes no HTTP datagrams")) }
        stage = .serving(link, welcome)
        onHappening?(.welcomed(welcome))
    }
}

/// How a conversation over HTTP/3 ended.
enum HTTP3LegEnd: Error, Equatable {
    case connection(QUICClosure)
    /// There was none.
    case unreachable(String)
    /// - Parameter wantsAccount: the relay would let us in if we said whose guest we are.
    case refused(status: Int, wantsAccount: Bool)
    case closed(code: UInt64, reason: String)
    case violation(String)
}
