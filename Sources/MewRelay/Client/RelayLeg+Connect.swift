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
        let stream: any ByteStream
        do throws(StreamFailure) {
            stream = try await connector.connect(to: url)
        } catch {
            return .stream(error)
        }
        let end = await serve(stream)
        await stream.close()
        return end
    }

    private func serve(_ stream: any ByteStream) async -> LegEnd {
        let opening = LegOpening(stream: stream, settings: settings, entropy: entropy)
        let admitted: LegOpening.Admitted
        switch await opening.admitted(within: Self.admissionLimit, on: loop) {
        case .success(let done): admitted = done
        case .failure(let end): return end
        }
        guard phase != .closed else { return .ended }
        begin()
        let input = LegInput(admitted.framing)
        return await withTaskGroup(of: LegEnd.self) { group in
            group.addTask { await self.read(stream, input) }
            group.addTask { await self.write(stream, input) }
            group.addTask { await self.ping() }
            let end = await group.next() ?? .ended
            group.cancelAll()
            return end
        }
    }

    private func begin() {
        let now = loop.now
        phase = .connected(since: now)
        problem = nil
        // The first question is due at once: only its answer shows that the relay is good (spec/iroh-wire.md §4.5).
        pings = PingClock(asking: entropy.uint64())
        report(.info, "relay_connected", "the relay \(url) forwards for us")
        waiters.resumeAll()
        if wasConnected { receiver?.returned?() }
        wasConnected = true
    }

    // MARK: - Reading

    /// What one read takes at most.
    private static let blockBytes = 64 << 10

    private func read(_ stream: any ByteStream, _ input: LegInput) async -> LegEnd {
        var block: [UInt8] = []
        do throws(StreamFailure) {
            while true {
                if let end = take(block, input) { return end }
                guard let next = try await stream.read(maxBytes: Self.blockBytes) else { return .ended }
                block = next
            }
        } catch {
            return .stream(error)
        }
    }

    /// Handles what has arrived; the end, when it was the last.
    private func take(_ block: [UInt8], _ input: LegInput) -> LegEnd? {
        pings?.heard(now: loop.now)
        let framing = input.framing
        framing.receive(block)
        do throws(ChannelError) {
            while true {
                switch try framing.next() {
                case .needMore:
                    let replies = framing.takeReplies()
                    if !replies.isEmpty { input.replies.append(replies) }
                    waiters.resumeAll(.writer)
                    return nil
                case .ended: return .ended
                case .message(let message):
                    if let end = handle(message) { return end }
                }
            }
        } catch {
            return .violation("the relay broke the WebSocket framing")
        }
    }

    private func handle(_ message: [UInt8]) -> LegEnd? {
        let frame: RelayFrame
        do throws(RelayFrameError) {
            frame = try RelayFrame.decode(message)
        } catch {
            return .violation("the relay sent \(error)")
        }
        switch frame {
        case .relayToClient(let datagrams): deliver(datagrams)
        case .ping(let value): queue.answer(RelayFrame.pong(value).encoded)
        case .pong(let value): ponged(value)
        case .endpointGone(let node): report(.debug, "relay_peer_gone", "\(node) has left the relay \(url)")
        case .health(let words): complains(words.printable(limit: 120))
        case .status(let health): changed(health)
        case .restarting(let reconnectInMs, _): restarting(after: .milliseconds(Int64(reconnectInMs)))
        case .serverChallenge, .clientAuth, .serverConfirmsAuth, .serverDeniesAuth, .clientToRelay:
            return .violation("the relay sent a frame that has no place after the handshake")
        }
        return nil
    }

    private func deliver(_ datagrams: RelayDatagrams) {
        guard let deliver = receiver?.deliver else { return }
        let number = peers.number(of: datagrams.peer, now: loop.now)
        datagrams.forEach { if !$0.isEmpty { deliver($0, number) } }
    }

    private func ponged(_ value: UInt64) {
        pings?.pong(value, now: loop.now)
        if firstPong == nil { firstPong = loop.now }
        if value == doubt?.payload { doubt = nil }
        waiters.resumeAll()
    }

    private func changed(_ health: RelayHealth) {
        switch health {
        case .healthy:
            problem = nil
            isSuperseded = false
            waiters.resumeAll(.phase)
        case .sameNodeConnectedElsewhere:
            isSuperseded = true
            complains(
                "the same node is connected there once more, so a copy of its key is in use elsewhere; "
                    + "give one of the two a state directory of its own")
        case .rateLimited: complains("the relay slows us down: we send more than it forwards for one node")
        case .unknown: break
        }
    }

    private func complains(_ words: String) {
        problem = words
        waiters.resumeAll(.phase)
        report(.warning, "relay_complains", "the relay \(url): \(words)")
    }

    /// A relay cannot send us away for long.
    private static let longestRestart: Duration = .seconds(10)

    private func restarting(after delay: Duration) {
        restartDelay = min(delay, Self.longestRestart)
    }

    // MARK: - Writing

    /// What one write takes at most: so much may stand before a pong.
    private static let writeBytes = 16 << 10

    private func write(_ stream: any ByteStream, _ input: LegInput) async -> LegEnd {
        do throws(StreamFailure) {
            while true {
                let bytes = output(input)
                if bytes.isEmpty {
                    if Task.isCancelled { return .ended }
                    await wait(.writer, unless: { !queue.isEmpty || !input.replies.isEmpty })
                } else {
                    try await stream.write(bytes)
                }
            }
        } catch {
            return .stream(error)
        }
    }

    private func output(_ input: LegInput) -> [UInt8] {
        var bytes = input.replies.flatMap { $0 }
        input.replies.removeAll()
        for frame in queue.take(maxBytes: Self.writeBytes, now: loop.now) {
            // A closed framing takes nothing more; the reader ends the connection.
            if let encoded = try? input.framing.encode(frame) { bytes += encoded }
        }
        return bytes
    }

    // MARK: - Pings

    private func ping() async -> LegEnd {
        while let deadline = pings?.deadline {
            if loop.now < deadline {
                guard (try? await LoopClock(loop).sleep(until: deadline, tolerance: nil)) != nil else { return .ended }
            }
            switch pings?.timeout(now: loop.now, random: entropy.uint64()) {
            case .ping(let value):
                queue.answer(RelayFrame.ping(value).encoded)
                waiters.resumeAll(.writer)
            case .dead: return .silent
            case .wait, nil: break
            }
        }
        return .ended
    }
}

/// The framing of one connection, shared by its reader and its writer.
///
/// `@unchecked Sendable`: touched in the leg's isolation only; it is a parameter of tasks that all enter the leg.
final class LegInput: @unchecked Sendable {
    let framing: WebSocketFraming
    /// What the framing itself has to say: answers to pings of the WebSocket.
    var replies: [[UInt8]] = []

    init(_ framing: WebSocketFraming) {
        self.framing = framing
    }
}
