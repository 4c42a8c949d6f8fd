internal import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewWire

/// The beginning of one connection to a relay: the upgrade, then the proof of who we are.
struct LegOpening: Sendable {
    let stream: any TCPStream
    let settings: RelayLeg.Settings
    let entropy: any Entropy
    /// The relay has refused a guest.
    let showsAccount: Bool

    struct Admitted: Sendable {
        let framing: LegFraming
        let version: RelayVersion
        /// On UDP, at the address that the stream goes to.
        let answersStun: Bool
    }

    /// Within `limit`, or `silent`.
    func admitted(within limit: Duration, on loop: any Loop) async -> Result<Admitted, LegEnd> {
        await withTimeLimit(limit, on: loop) { await open() }.result(late: .silent)
    }

    private func open() async -> Result<Admitted, LegEnd> {
        do throws(LegEnd) {
            let upgraded = try await upgrade()
            let framing = LegFraming(rest: upgraded.rest, entropy: entropy)
            try await authenticate(try await handshake(upgraded.question), framing)
            return .success(
                Admitted(framing: framing, version: upgraded.version, answersStun: upgraded.answersStun))
        } catch {
            return .failure(error)
        }
    }

    // MARK: Upgrade

    private typealias Upgraded = (
        version: RelayVersion, question: RelayNodeProof.Question?, answersStun: Bool, rest: [UInt8]
    )

    private func upgrade() async throws(LegEnd) -> Upgraded {
        let upgrade = LegUpgrade(entropy: entropy)
        // The proof of an account needs the challenge.
        let proof = showsAccount ? nil : await keyingMaterialProof()
        let request = upgrade.request(
            to: settings.url, token: settings.token, proof: proof, isGuest: settings.account != nil,
            offersAccount: showsAccount)
        try await write(request.encoded)
        var received: [UInt8] = []
        while true {
            switch HTTPResponse.parse(received) {
            case .needMore: received += try await read()
            case .malformed(let reason): throw .refused("what answers there is no relay: \(reason)")
            case .head(let response, let byteCount):
                do throws(LegUpgrade.Refusal) {
                    let version = try upgrade.version(in: response)
                    if let pinned = settings.url.key {
                        try upgrade.checkKey(pinned, in: response, binding: await binding(upgrade))
                    }
                    let (question, answersStun) = (upgrade.question(in: response), StunField.says(response))
                    return (version, question, answersStun, Array(received[byteCount...]))
                } catch {
                    throw LegEnd(error)
                }
            }
        }
    }

    /// Nil without TLS; the relay then sends a challenge.
    private func keyingMaterialProof() async -> RelayKeyingMaterialProof? {
        let material = await stream.exportKeyingMaterial(
            label: RelayKeyingMaterialProof.exporterLabel, context: settings.secret.node.bytes,
            byteCount: RelayKeyingMaterialProof.exporterByteCount)
        return material.map { RelayKeyingMaterialProof(secret: settings.secret, keyingMaterial: $0) }
    }

    private func binding(_ upgrade: LegUpgrade) async -> RelayKeyProof.Binding {
        let material = await stream.exportKeyingMaterial(
            label: RelayKeyProof.exporterLabel, context: [], byteCount: RelayKeyProof.exporterByteCount)
        return material.map { .init(keyingMaterial: $0) } ?? .init(webSocketKey: upgrade.key)
    }

    // MARK: Proof

    /// - Parameter question: how the relay wants our node key proved, if it does.
    private func handshake(_ question: RelayNodeProof.Question?) async throws(LegEnd) -> RelayClientHandshake {
        guard let account = settings.account, question != nil || showsAccount else {
            return RelayClientHandshake(secret: settings.secret)
        }
        // A relay of others knows nodes by the key they come under, and by nothing else. What answers its challenge can be passed on to
        // any relay, which then takes whoever does that for us: only one that our own side trusts gets it.
        guard let question else {
            guard settings.isNamedByOwner else { throw .wantsWeakProof }
            return RelayClientHandshake(secret: account)
        }
        let binding = try await binding(answering: question)
        return RelayClientHandshake(secret: settings.secret, account: .init(account, binding: binding))
    }

    /// What was asked, as far as our own end can tell. Without TLS nothing else can be proved: a relay behind a proxy that begins
    /// TLS finds that it proves nothing, and logs why.
    private func binding(answering question: RelayNodeProof.Question) async throws(LegEnd) -> RelayNodeProof.Binding {
        guard settings.url.isSecure else { return .plain }
        switch question {
        case .plain:
            // A proxy may end TLS on the way. But any relay may ask so, and pass the answer on to one that is without TLS: only one
            // that our own side trusts gets it.
            guard settings.isNamedByOwner else { throw .wantsWeakProof }
            return .plain
        case .keyingMaterial:
            let material = await stream.exportKeyingMaterial(
                label: RelayNodeProof.exporterLabel, context: [], byteCount: RelayNodeProof.exporterByteCount)
            guard let material else { throw .stream(.tls(.library("cannot export keying material"))) }
            return .keyingMaterial(material)
        }
    }

    private func authenticate(_ first: RelayClientHandshake, _ framing: LegFraming) async throws(LegEnd) {
        var handshake = first
        while true {
            switch handshake.receive(try await nextFrame(framing)) {
            case .send(let frame): try await write(framing.encode(frame))
            case .confirmed: return
            case .denied(let reason): throw .denied(reason)
            case .violation(let reason): throw .violation(reason)
            }
        }
    }

    private func nextFrame(_ framing: LegFraming) async throws(LegEnd) -> RelayFrame {
        while true {
            var message: [UInt8]?
            let step = framing.read {
                message = Array($0)
                return false
            }
            if let message { return try decoded(message) }
            switch step {
            case .needMore: framing.append(try await read())
            case .ended: throw .ended
            case .violation: throw .violation("the relay broke the WebSocket framing")
            }
        }
    }

    private func decoded(_ message: [UInt8]) throws(LegEnd) -> RelayFrame {
        do throws(RelayFrameError) {
            return try RelayFrame.decode(message)
        } catch {
            throw .violation("the relay sent \(error)")
        }
    }

    // MARK: Bytes

    private func read() async throws(LegEnd) -> [UInt8] {
        do throws(StreamFailure) {
            guard let bytes = try await stream.read(maxBytes: 16 << 10) else { throw StreamFailure.closed }
            return bytes
        } catch {
            throw error == .closed ? .ended : .stream(error)
        }
    }

    private func write(_ bytes: [UInt8]) async throws(LegEnd) {
        do throws(StreamFailure) {
            try await stream.write(bytes)
        } catch {
            throw .stream(error)
        }
    }
}
