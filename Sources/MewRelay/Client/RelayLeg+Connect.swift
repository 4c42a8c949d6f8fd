internal import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewWire

// One connection, from the first packet to its end.

extension RelayLeg {
    /// The whole way to being admitted (spec/iroh-wire.md §4.1).
    static let admissionLimit: Duration = .seconds(10)

    /// Returns how it ended, or why it was given up.
    func connectOnce() async -> LegEnd {
        interruption = nil
        return await withTaskGroup(of: LegEnd.self) { group in
            group.addTask { await self.connectAndServe() }
            group.addTask { await self.interrupted() }
            let end = await group.next() ?? .ended
            group.cancelAll()
            return end
        }
    }

    private func connectAndServe() async -> LegEnd {
        var opened = await open()
        while true {
            switch opened {
            case .http3: opened = await serveHTTP3()
            case .webSocket(let stream, let admitted):
                let end = await serve(stream, admitted)
                guard case .welcomed = http3.opening, end == .ended else {
                    await stream.close()
                    return end
                }
                // HTTP/3 goes on where this ends: the relay gives it the packets already.
                loop.spawn { await stream.close() }
                opened = .http3
            case .failed(let end): return end
            case .withoutHTTP3, .notNeeded: return .ended
            }
        }
    }

    private func serve(_ stream: any TCPStream, _ admitted: LegOpening.Admitted) async -> LegEnd {
        guard phase != .closed else { return .ended }
        framing = admitted.framing
        stunServer = admitted.answersStun ? stream.remote : nil
        // What was sent over HTTP/3 since it fell silent is lost; who uses the leg hears that it is back.
        if http3.fallBack == .underWay { phase = .connecting }
        begin()
        return await withTaskGroup(of: LegEnd.self) { group in
            group.addTask { await self.read(stream) }
            group.addTask { await self.write(stream) }
            group.addTask { await self.ping() }
            group.addTask { await self.returnToHTTP3() }
            let end = await group.next() ?? .ended
            group.cancelAll()
            return end
        }
    }

    func begin() {
        let now = loop.now
        endDoubt()
        endSupersession()
        // The first question is due at once: only its answer shows that the relay is good (spec/iroh-wire.md §4.5).
        pings = PingClock(asking: entropy.uint64())
        if case .connected = phase {
            report(.info, "relay_transport", "the relay \(url) forwards for us over \(words) from now on")
            return waiters.resumeAll()
        }
        phase = .connected(since: now)
        set(problem: nil)
        report(.info, "relay_connected", "the relay \(url) forwards for us over \(words)")
        waiters.resumeAll()
        if wasConnected { receiver?.returned?() }
        wasConnected = true
    }

    private var words: String { (transport ?? .webSocket).words }

    // MARK: - Reading

    private func read(_ stream: any TCPStream) async -> LegEnd {
        do throws(StreamFailure) {
            while true {
                if let end = takeMessages() { return end }
                guard let framing, try await stream.read(into: framing) else { return .ended }
                if let end = takeMessages() { return end }
            }
        } catch {
            return .stream(error)
        }
    }

    /// Handles what has arrived; the end, when it was the last.
    private func takeMessages() -> LegEnd? {
        guard let framing else { return .ended }
        pings?.heard(now: loop.now)
        var end: LegEnd?
        let step = framing.read { message in
            end = handle(message)
            return end == nil
        }
        if framing.hasReplies { write(framing.takeReplies()) }
        if let end { return end }
        return switch step {
        case .needMore: nil
        case .ended: .ended
        case .violation: .violation("the relay broke the WebSocket framing")
        }
    }

    private func handle(_ message: UnsafeRawBufferPointer) -> LegEnd? {
        if let packets = DeliveredPackets(message) {
            deliver(packets)
            return nil
        }
        return handle(Array(message))
    }

    private func handle(_ message: [UInt8]) -> LegEnd? {
        let frame: RelayFrame
        do throws(RelayFrameError) {
            frame = try RelayFrame.decode(message)
        } catch {
            return .violation("the relay sent \(error)")
        }
        switch frame {
        case .relayToClient(let datagrams):
            // Its type was written in a longer form than needed, or it is empty.
            var shortest = frame.encoded
            shortest.withUnsafeMutableBytes { bytes in
                if !datagrams.contents.isEmpty { DeliveredPackets(UnsafeRawBufferPointer(bytes)).map(deliver) }
            }
        case .ping(let value): say(.pong(value))
        case .pong(let value): ponged(value)
        case .endpointGone(let node): absent(node)
        case .health(let words): complains(words.printable(limit: 120), for: Self.complaintLife)
        case .status(let health): changed(health)
        case .restarting(let reconnectInMs, _): restarting(after: .milliseconds(Int64(reconnectInMs)))
        case .serverChallenge, .clientAuth, .serverConfirmsAuth, .serverDeniesAuth, .clientToRelay:
            return .violation("the relay sent a frame that has no place after the handshake")
        }
        return nil
    }

    private func deliver(_ packets: DeliveredPackets) {
        guard let deliver = receiver?.deliver else { return }
        let number = peers.number(of: packets.sender, now: loop.now)
        deliver(packets.contents, packets.segmentSize, number)
    }

    /// A hint.
    func absent(_ node: NodeID) {
        report(.debug, "relay_peer_gone", "\(node) is not at the relay \(url)")
        if let number = peers.known(node) { receiver?.absent?(number) }
    }

    func ponged(_ value: UInt64) {
        pings?.pong(value, now: loop.now)
        if firstPong == nil { firstPong = loop.now }
        if let doubt, value == doubt.payload {
            pings?.measured(doubt.asked.duration(to: loop.now), now: loop.now)
            endDoubt()
        }
        waiters.resumeAll()
    }

    /// How long something that a relay says once, and never takes back, stays worth telling.
    static let complaintLife: Duration = .seconds(60)

    func changed(_ health: RelayHealth) {
        switch health {
        case .healthy:
            set(problem: nil)
            endSupersession()
            waiters.resumeAll(.phase)
        case .sameNodeConnectedElsewhere: superseded()
        case .rateLimited:
            complains("the relay slows us down: we send more than it forwards for one node", for: Self.complaintLife)
        case .unknown: break
        }
    }

    func complains(_ words: String, for time: Duration? = nil) {
        set(problem: words, for: time)
        waiters.resumeAll(.phase)
        report(.warning, "relay_complains", "the relay \(url): \(words)")
    }

    /// A relay cannot send us away for long.
    private static let longestRestart: Duration = .seconds(10)

    func restarting(after delay: Duration) {
        restartDelay = min(delay, Self.longestRestart)
    }

    // MARK: - Writing

    private func write(_ stream: any TCPStream) async -> LegEnd {
        do throws(StreamFailure) {
            while true {
                try await stream.write(from: output)
                if Task.isCancelled { return .ended }
                await wait(.writer, unless: { !output.isEmpty })
            }
        } catch {
            return .stream(error)
        }
    }

    /// Queues a frame of ours, in front of packets.
    func say(_ frame: RelayFrame) {
        if let http3 = http3.serving {
            // Of what we say a relay over HTTP/3 is asked this alone; it answers for itself.
            if case .ping(let value) = frame { http3.ping(value) }
        } else if let framing {
            write(framing.encode(frame))
        }
    }

    private func write(_ bytes: [UInt8]) {
        output.answer(bytes)
        waiters.resumeAll(.writer)
    }

    // MARK: - Pings

    func ping() async -> LegEnd {
        while let deadline = pings?.deadline {
            if loop.now < deadline {
                guard await LoopClock(loop).pause(until: deadline) == .over else { return .ended }
            }
            switch pings?.timeout(now: loop.now, random: entropy.uint64()) {
            case .ping(let value):
                say(.ping(value))
            case .dead: return .silent
            case .wait, nil: break
            }
        }
        return .ended
    }
}
