internal import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewWire

extension RelayConnection {
    /// Reads once: other connections have their turn before the next time.
    ///
    /// - Parameter isOver: the kernel says that nothing more comes.
    func readSome(isOver: Bool) {
        // The end is read at any rate.
        guard let most = isOver ? RelayHub.readBytes : readableNow() else { return }
        switch tls == nil ? readPlain(most) : readSealed(most) {
        case .bytes(let input): take(input)
        case .nothing: if isOver { hub.drop(self, .closed) }
        case .end: hub.drop(self, .closed)
        case .broken(let failure):
            flush()
            hub.drop(self, .violation(failure.description))
        }
    }

    private enum Input {
        /// In memory of the hub, what was unread before it in front.
        case bytes(UnsafeMutableRawBufferPointer)
        case nothing
        case end
        case broken(TLSFailure)
    }

    /// How much the client may send now; nil when it was made to wait.
    private func readableNow() -> Int? {
        guard let available = bucket?.available(now: hub.now) else { return RelayHub.readBytes }
        if available > 0 { return min(available, RelayHub.readBytes) }
        makeWait()
        return nil
    }

    private func readPlain(_ most: Int) -> Input {
        let scratch = hub.scratch
        let start = unread.count
        let room = UnsafeMutableRawBufferPointer(rebasing: scratch[start..<(start + most)])
        switch socket.read(into: room) {
        case .bytes(let count):
            bucket?.take(count)
            return .bytes(joined(count))
        case .nothing: return .nothing
        case .end, .failed: return .end
        }
    }

    private func readSealed(_ most: Int) -> Input {
        guard let tls else { return .end }
        let count: Int
        let room = hub.sealedScratch.prefix(most)
        switch socket.read(into: UnsafeMutableRawBufferPointer(rebasing: room)) {
        case .bytes(let read): count = read
        case .nothing: return .nothing
        case .end, .failed: return .end
        }
        bucket?.take(count)
        var end = unread.count
        let result = Result { () throws(TLSFailure) in
            try tls.receive(UnsafeRawBufferPointer(rebasing: hub.sealedScratch[..<count])) { plaintext in
                UnsafeMutableRawBufferPointer(rebasing: hub.scratch[end...]).copyMemory(from: plaintext)
                end += plaintext.count
            }
        }
        if case .failure(let failure) = result { return .broken(failure) }
        if tls.hasOutput { flush() }
        guard end > unread.count else { return tls.isEnded ? .end : .nothing }
        return .bytes(joined(end - unread.count))
    }

    /// Puts what was unread in front of the `count` bytes that were read behind it.
    private func joined(_ count: Int) -> UnsafeMutableRawBufferPointer {
        let start = unread.count
        hub.scratch.copyBytes(from: unread)
        unread = []
        return UnsafeMutableRawBufferPointer(rebasing: hub.scratch[..<(start + count)])
    }

    private func take(_ bytes: UnsafeMutableRawBufferPointer) {
        var input = bytes
        if case .request = stage { readRequest(&input) }
        switch stage {
        case .request: break
        case .admission, .serving: readFrames(&input)
        case .closing: break
        }
        if case .closing = stage { return }
        if !input.isEmpty { unread = Array(input) }
    }

    static let tellRateEvery: Duration = .seconds(30)

    private func makeWait() {
        guard let bucket else { return }
        hub.metrics.rateLimited += 1
        pauseReading(for: bucket.wait)
        // Clients of ours forget it after a minute.
        if let toldRate, toldRate.duration(to: hub.now) < Self.tellRateEvery { return }
        toldRate = hub.now
        switch version {
        case .v1: answer(.health("this relay limits how fast you may send"))
        case .v2: answer(.status(.rateLimited))
        }
    }

    // MARK: - Frames

    private func readFrames(_ input: inout UnsafeMutableRawBufferPointer) {
        ping.heard(now: hub.now)
        do throws(WebSocketReader.Violation) {
            try reader.read(&input) { opcode, payload in
                take(opcode, payload)
                return isTalking
            }
        } catch {
            end(code: error.rawValue, "a WebSocket frame that breaks RFC 6455", .violation("a broken WebSocket frame"))
        }
    }

    private var isTalking: Bool {
        switch stage {
        case .admission, .serving: socket.isOpen
        case .request, .closing: false
        }
    }

    private func take(_ opcode: WebSocketReader.Opcode, _ payload: UnsafeMutableRawBufferPointer) {
        switch opcode {
        case .binary: takeFrame(payload)
        case .ping: send(WebSocketWriter.frame(.pong, Array(payload)))
        case .close: end(code: 1000, "", .closed)
        case .text, .pong, .continuation: break
        }
    }

    private func takeFrame(_ payload: UnsafeMutableRawBufferPointer) {
        if let node, hub.forward(payload, from: self, node) { return }
        do throws(RelayFrameError) {
            let frame = try RelayFrame.decode(Array(payload))
            switch stage {
            case .admission(let admission): proceed(admission.receive(frame))
            case .serving(let node): take(frame, from: node)
            case .request, .closing: break
            }
        } catch {
            violated(error.description)
        }
    }

    private func take(_ frame: RelayFrame, from node: NodeID) {
        switch frame {
        case .ping(let payload):
            answer(.pong(payload))
        case .pong(let payload):
            ping.pong(payload, now: hub.now)
            rearm()
        case .clientToRelay(let datagrams):
            // Its type was written in a longer form than needed, or it is empty: such a one goes nowhere.
            guard !datagrams.contents.isEmpty else { return }
            var shortest = frame.encoded
            shortest.withUnsafeMutableBytes { _ = hub.forward($0, from: self, node) }
        case .serverChallenge, .clientAuth, .serverConfirmsAuth, .serverDeniesAuth, .relayToClient, .endpointGone,
            .health, .restarting, .status:
            violated("a frame that only a relay sends")
        }
    }

    func violated(_ what: String) {
        end(code: 1002, what, .violation(what))
    }

    // MARK: - Admission

    func proceed(_ step: RelayAdmission.Step) {
        switch step {
        case .send(let frame):
            answer(frame)
        case .proven(let node, let account):
            self.account = account
            if let refusal = refusal(as: node) {
                hub.tellRefused(node, of: self, refusal)
                return deny("not authorized")
            }
            hub.admit(self, as: node)
        case .deny(let unproven, let claim):
            hub.tellUnproven(claim, of: self, unproven)
            deny("signature invalid")
        case .violation(let what):
            violated(what)
        }
    }

    private func deny(_ reason: String) {
        hub.metrics.denied += 1
        answer(.serverDeniesAuth(reason: reason))
        end(code: 1008, reason, .denied(reason))
    }
}
