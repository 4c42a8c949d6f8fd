internal import MewBase
internal import MewHTTP3
internal import MewIdentity
internal import MewLoop
internal import MewQUIC
internal import MewQUICCore
internal import MewWire

/// One client over HTTP/3 as the relay has it, from its handshake to its last byte. Touched on the loop's thread only.
///
///     anonymous ──▶ serving ──▶ closing
///         │            │           │
///         └────────────┴───────────┴──▶ (gone)
///
/// A class, because QUIC calls back; it is held by its connection and by the hub.
final class HTTP3Client: RelayClient, DirectHandler {
    private enum Stage {
        /// It may ask what everybody may ask, for as long as a stranger may stay.
        case anonymous
        case serving(Member)
        /// It has been told why, and should go.
        case closing
    }

    /// What there is besides once the client has said who it is.
    private struct Member {
        let node: NodeID
        let credentials: HTTP3Admission.Admitted
        let link: CapsuleLink
    }

    let number: ConnectionNumber
    let source: SourceBudget.Source
    let peer: SocketAddress
    private unowned let hub: RelayHub
    private let pump: HTTP3Pump
    private var stage = Stage.anonymous
    private var isStranger = true
    private var takesDatagrams = false
    /// Requests whose body is still to come.
    private var requests: [Int64: HTTP3Request] = [:]
    private var bucket: TokenBucket?
    private var toldRate: Instant?
    var audience: Set<NodeID> = []
    var lastReceiver: NodeID?
    var lastAbsent: (node: NodeID, told: Instant)?

    init(_ number: ConnectionNumber, _ pump: HTTP3Pump, at peer: SocketAddress, hub: RelayHub) {
        self.number = number
        self.pump = pump
        self.peer = peer
        self.hub = hub
        source = SourceBudget.Source(peer)
    }

    func start() {
        pump.connection.attach(self)
        guard pump.start() else {
            return pump.connection.close(code: HTTP3Failure.noError, reason: "no room for three streams")
        }
        pump.flush()
    }

    private var member: Member? {
        if case .serving(let member) = stage { member } else { nil }
    }

    var account: NodeID? { member?.credentials.account }

    /// By the rules of now: they may have changed since it came.
    var isRefusedNow: Bool {
        guard let member else { return false }
        return HTTP3Admission.refusal(of: member.credentials, by: hub.rules) != nil
    }

    // MARK: - What QUIC tells

    func established() {}

    func readable(_ stream: Int64) {
        pump.read(stream)
        takeEvents()
    }

    func writable(_ stream: Int64) { pump.unblock(stream) }

    func ended(_ closure: QUICClosure) {
        if let member {
            _ = member.link.queue.removeAll()
            hub.leave(self, as: member.node, closure == .idle ? .silent : .closed)
        }
        stage = .closing
        hub.forget(self, wasStranger: isStranger)
    }

    /// Within the reading of a packet: nothing but queues is touched.
    func received(datagram: UnsafeRawBufferPointer) {
        guard let member, let (stream, payload) = HTTPDatagram.read(datagram), stream == member.link.stream else {
            return
        }
        forward(payload, of: member)
    }

    private func forward(_ payload: UnsafeRawBufferPointer, of member: Member) {
        guard let (receiver, packet) = member.link.incoming.read(payload) else {
            hub.metrics.packetsUnknownReceiver += 1
            return
        }
        guard packet.count <= HTTP3Admission.maxPacketBytes, mayPass(packet.count) else { return }
        hub.forward(packet, of: member.node, from: self, to: receiver)
    }

    /// Who sends more than it may loses it: nobody can be kept from sending datagrams.
    private func mayPass(_ byteCount: Int) -> Bool {
        guard bucket != nil else { return true }
        if let available = bucket?.available(now: hub.now), available >= byteCount {
            bucket?.take(byteCount)
            return true
        }
        hub.metrics.rateLimited += 1
        tellRate()
        return false
    }

    private func tellRate() {
        if let toldRate, toldRate.duration(to: hub.now) < RelayConnection.tellRateEvery { return }
        toldRate = hub.now
        tell(.rateLimited)
    }

    // MARK: - Events of HTTP/3

    private func takeEvents() {
        let events = pump.core.takeEvents()
        guard !events.isEmpty else { return }
        for event in events { take(event) }
        pump.flush()
    }

    private func take(_ event: HTTP3Event) {
        switch event {
        case .settings(let takesDatagrams):
            self.takesDatagrams = takesDatagrams
            member?.link.takesDatagrams = takesDatagrams
        case .head(let stream, let head): take(head, on: stream)
        case .headTooLarge(let stream): respond(HTTPResponse(431), [], on: stream)
        case .data(let stream, let bytes): take(bytes, on: stream)
        case .ended(let stream): ended(stream)
        case .broken(let stream, let code):
            pump.abandon(stream, code: code)
            requests[stream] = nil
            if stream == member?.link.stream { drop() }
        case .goingAway: break
        }
    }

    private func take(_ head: HTTP3Head, on stream: Int64) {
        if head.method == "CONNECT" { return connect(head, on: stream) }
        guard let request = HTTP3Request(head) else { return respond(HTTPResponse(404), [], on: stream) }
        requests[stream] = request
    }

    private func take(_ bytes: [UInt8], on stream: Int64) {
        if let member, stream == member.link.stream { return takeCapsules(bytes, of: member) }
        guard requests[stream]?.append(bytes) == false else { return }
        requests[stream] = nil
        respond(HTTPResponse(413), [], on: stream)
    }

    private func ended(_ stream: Int64) {
        if stream == member?.link.stream { return drop() }
        guard let request = requests.removeValue(forKey: stream) else { return }
        let answer = HTTPService(hub: hub, client: self).answer(request.request, request.body)
        respond(answer.response, answer.body, on: stream)
    }

    private func respond(_ response: HTTPResponse, _ body: [UInt8], on stream: Int64) {
        var head = HTTP3Head([(":status", String(response.status))])
        for field in response.fields.all { head.append(field.name, field.value) }
        if response.status != 204 { head.append("content-length", String(body.count)) }
        pump.perform { () throws(HTTP3Failure) in
            try pump.core.respond(head, on: stream, staysOpen: !body.isEmpty)
            if !body.isEmpty {
                _ = try pump.core.send(body, on: stream)
                try pump.core.finish(stream)
            }
        }
    }

    // MARK: - Admission

    private func connect(_ head: HTTP3Head, on stream: Int64) {
        guard case .anonymous = stage else { return respond(HTTPResponse(400), Array("once\n".utf8), on: stream) }
        let material = pump.connection.export(
            label: RelayTLSProof.exporterLabel, byteCount: RelayTLSProof.exporterByteCount)
        switch HTTP3Admission.judge(head, keyingMaterial: material, rules: hub.rules) {
        case .admitted(let admitted): admit(admitted, on: stream)
        case .refused(let response, let reason): respond(response, Array("\(reason)\n".utf8), on: stream)
        case .denied(let response, let node, let refusal):
            hub.metrics.denied += 1
            hub.tellRefused(node, of: self, refusal)
            respond(response, Array("not authorized\n".utf8), on: stream)
        }
    }

    private func admit(_ admitted: HTTP3Admission.Admitted, on stream: Int64) {
        let limits = hub.limits
        let link = CapsuleLink(
            on: stream, of: pump, handles: HTTP3Admission.handles, accepts: HTTP3Admission.handles,
            queue: PacketLanes(limits.lanes, hub.backlog), loop: hub.loop)
        link.takesDatagrams = takesDatagrams
        stage = .serving(Member(node: admitted.node, credentials: admitted, link: link))
        isStranger = false
        if let rate = limits.bytesPerSecond { bucket = TokenBucket(rate: rate, burst: limits.burstBytes, now: hub.now) }
        pump.perform { () throws(HTTP3Failure) in
            try pump.core.respond(HTTP3Admission.acceptance, on: stream, staysOpen: true)
        }
        link.say(.welcome(HTTP3Admission.welcome(limits, observed: peer)))
        pump.connection.authorize()
        hub.admit(self, as: admitted.node)
    }

    // MARK: - Capsules

    private func takeCapsules(_ bytes: [UInt8], of member: Member) {
        do throws(RelayCapsuleError) {
            try member.link.receive(bytes) { take($0, of: member) }
        } catch {
            end(.violation, error.description, .violation(error.description))
        }
    }

    /// False when nothing more is to be read.
    private func take(_ capsule: RelayCapsule, of member: Member) -> Bool {
        switch capsule {
        case .datagram(let payload):
            hub.metrics.capsulePackets += 1
            payload.withUnsafeBytes { forward($0, of: member) }
        case .ping(let value):
            // Who reads no answers gets none.
            member.link.say(.pong(value))
        case .pong, .bind, .bound, .release: break
        case .close:
            drop()
            return false
        case .welcome, .gone, .health, .warning:
            end(.violation, "a capsule that only a relay sends", .violation("a capsule that only a relay sends"))
            return false
        }
        return true
    }

    // MARK: - What it is told

    func take(
        _ packet: UnsafeRawBufferPointer, of node: NodeID, from sender: ConnectionNumber
    ) -> CapsuleLink.Fate {
        guard let member, packet.count <= HTTP3Admission.maxPacketBytes else { return .dropped }
        defer {
            hub.metrics.packetsExpired += member.link.takeExpired()
            hub.metrics.packetsRepeated += member.link.takeRepeated()
        }
        return member.link.send(packet, about: node, of: sender.raw)
    }

    func tell(_ health: RelayHealth) { member?.link.say(.health(health)) }

    func hear(gone node: NodeID) {
        guard let member, pump.core.room(on: member.link.stream) > HTTP3Admission.hintRoom else { return }
        member.link.say(.gone(node))
    }

    func evict() { end(.replaced, "this node has newer connections", .evicted) }

    /// Says why, and ends the stream; the client closes the connection, or is cut off a little later.
    func end(_ code: RelayCloseCode, _ reason: String, _ cause: RelayHub.Cause) {
        guard let member else { return drop() }
        stage = .closing
        _ = member.link.queue.removeAll()
        member.link.say(.close(code: code.rawValue, reason: reason))
        pump.perform { () throws(HTTP3Failure) in try pump.core.finish(member.link.stream) }
        pump.flush()
        _ = hub.loop.schedule(at: hub.now.advanced(by: RelayConnection.lingering)) { [weak self] in self?.drop() }
        hub.leave(self, as: member.node, cause)
    }

    func sayGoodbye(restartIn: Duration, for time: Duration) {
        let wait = UInt64(max(0, restartIn.milliseconds))
        member?.link.say(.warning(cutInMs: 0, returnInMs: wait, reason: "the relay restarts"))
        end(.goingAway, "the relay restarts", .ending)
    }

    /// Ends the connection at once.
    func drop() { pump.connection.close(code: HTTP3Failure.noError, reason: "") }
}
