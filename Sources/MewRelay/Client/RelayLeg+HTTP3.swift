internal import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewQUIC
internal import MewQUICCore
internal import MewWire

// HTTP/3 beside WebSocket: whichever the relay answers first carries the leg, and HTTP/3 takes over as soon as it can.

/// What of HTTP/3 a leg has.
struct LegHTTP3 {
    /// A conversation whose beginning is waited for.
    enum Opening {
        case none
        case asked(HTTP3Leg)
        case welcomed(HTTP3Leg)
        case failed(HTTP3LegEnd)
    }

    /// WebSocket beside an HTTP/3 that may be dead.
    enum FallBack: Equatable {
        case none
        /// Unless there is an answer by then.
        case due(Instant)
        case underWay
    }

    var opening = Opening.none
    var fallBack = FallBack.none
    /// Carries the leg.
    var serving: HTTP3Leg?
    /// How the one ended that carried it.
    var end: HTTP3LegEnd?
    /// Tries in a row that came to nothing.
    var failures = 0
    /// Nobody knows yet whether it works this time.
    var isAsking = false
    /// The next try is due now.
    var isHurried = false

    /// WebSocket waits so long for HTTP/3, and not at all while that does not work.
    var headStart: Duration { failures == 0 ? .milliseconds(250) : .zero }

    /// How long a leg over WebSocket waits before it asks again whether HTTP/3 works: 5 s, and three times as long each time, at
    /// most 5 min. Each costs a few packets.
    var retryAfter: Duration { min(.seconds(300), .seconds(5) * Self.power(of: 3, min(failures, 5))) }

    private static func power(of base: Int, _ exponent: Int) -> Int {
        (0..<max(0, exponent - 1)).reduce(1) { power, _ in power * base }
    }
}

extension RelayLeg {
    /// What carries the leg, once the relay has let us in.
    enum Opened: Sendable {
        /// The conversation stands in `http3.opening`.
        case http3
        case webSocket(any TCPStream, LegOpening.Admitted)
        /// What WebSocket has to say about it is what people can do something about.
        case failed(LegEnd)
        case withoutHTTP3
        /// The other one was faster.
        case notNeeded
    }

    /// Starts HTTP/3 and, 250 ms later, WebSocket, whether the former has failed by then or not. The first that is let in has won.
    func open() async -> Opened {
        http3.isAsking = endpoint != nil
        return await withTaskGroup(of: Opened.self) { group in
            group.addTask { await self.openHTTP3() == .ready ? .http3 : .withoutHTTP3 }
            group.addTask { await self.openWebSocket() }
            var winner: Opened?
            var failure = Opened.failed(.ended)
            for await opened in group {
                switch (opened, winner) {
                case (.http3, nil), (.webSocket, nil):
                    winner = opened
                    group.cancelAll()
                case (.http3, _): self.giveUpHTTP3()
                case (.webSocket(let stream, _), _): await stream.close()
                case (.failed, _):
                    failure = opened
                    // The relay may be back sooner than a handshake that nobody answers is over.
                    if self.http3.failures > 0 { group.cancelAll() }
                case (.withoutHTTP3, _), (.notNeeded, _): break
                }
            }
            return winner ?? failure
        }
    }

    private func openWebSocket() async -> Opened {
        await wait(until: loop.now.advanced(by: http3.headStart)) { !http3.isAsking }
        if case .welcomed = http3.opening { return .notNeeded }
        return await admittedOverWebSocket()
    }

    func admittedOverWebSocket() async -> Opened {
        let stream: any TCPStream
        do throws(StreamFailure) {
            stream = try await connector.connect(to: url)
        } catch {
            return .failed(.stream(error))
        }
        let opening = LegOpening(stream: stream, settings: settings, entropy: entropy, showsAccount: showsAccount)
        switch await opening.admitted(within: Self.admissionLimit, on: loop) {
        case .success(let admitted): return .webSocket(stream, admitted)
        case .failure(let end):
            await stream.close()
            return .failed(end)
        }
    }

    /// Suspends until `deadline`, or until it is over before.
    func wait(until deadline: Instant, or isOver: () -> Bool) async {
        let timer =
            deadline < .distantFuture
            ? loop.schedule(at: deadline) { self.assumeIsolated { $0.waiters.resumeAll(.phase) } } : nil
        while loop.now < deadline, !isOver(), !Task.isCancelled {
            await wait(unless: { loop.now >= deadline || isOver() })
        }
        if let timer { loop.cancel(timer) }
    }

    // MARK: - Opening

    enum Readiness: Sendable {
        /// The conversation stands in `http3.opening`, welcomed.
        case ready
        case failed
        /// There is no HTTP/3 here.
        case absent
    }

    /// A handshake and a request, each of which may be lost once. WebSocket does not wait for it.
    private static let http3Limit: Duration = .seconds(3)

    func openHTTP3() async -> Readiness {
        guard let endpoint else { return .absent }
        let outcome = await withTimeLimit(Self.http3Limit, on: loop) { await self.askOverHTTP3(endpoint) }
        http3.isAsking = false
        switch outcome.result(late: LegEnd.silent) {
        case .success(let isThere):
            if isThere { http3.failures = 0 }
            waiters.resumeAll(.phase)
            return isThere ? .ready : .absent
        case .failure(let end):
            giveUpHTTP3()
            // Whoever was faster has cancelled it.
            guard !Task.isCancelled else { return .failed }
            http3.failures += 1
            waiters.resumeAll(.phase)
            report(.debug, "relay_http3_failed", "the relay \(url) over HTTP/3: \(end.words)")
            return .failed
        }
    }

    /// False when this connector knows nothing of HTTP/3.
    private func askOverHTTP3(_ endpoint: Endpoint) async -> Result<Bool, LegEnd> {
        let target: HTTP3Target?
        do throws(StreamFailure) {
            target = try await connector.http3Target(of: url)
        } catch {
            return .failure(.stream(error))
        }
        guard let target else { return .success(false) }
        var outcome = await ask(endpoint, target, account: showsAccount ? settings.account : nil)
        // The proof is good for this connection alone: nobody can pass it on, so any relay may have it.
        if case .failure(.refused(status: _, wantsAccount: true)) = outcome, let account = settings.account,
            !showsAccount
        {
            outcome = await ask(endpoint, target, account: account)
        }
        switch outcome {
        case .success: return .success(true)
        case .failure(let end): return .failure(LegEnd(end))
        }
    }

    private func ask(
        _ endpoint: Endpoint, _ target: HTTP3Target, account: SecretKey?
    ) async -> Result<Void, HTTP3LegEnd> {
        do throws(DialFailure) {
            let handle = try await endpoint.connect(
                to: target.demand, addresses: target.addresses, protocols: ["h3"], transport: HTTP3Front.transport)
            guard begin(handle, account) else { return .failure(.violation("no relay of ours")) }
        } catch {
            return .failure(.unreachable("\(error)"))
        }
        while case .asked = http3.opening, !Task.isCancelled {
            await wait(unless: { if case .asked = http3.opening { false } else { true } })
        }
        switch http3.opening {
        case .welcomed: return .success(())
        case .failed(let end): return .failure(end)
        case .asked, .none: return .failure(.violation("cancelled"))
        }
    }

    private func begin(_ handle: DirectConnection.Handle, _ account: SecretKey?) -> Bool {
        let identity = HTTP3Leg.Identity(
            secret: settings.secret, account: account, isGuest: settings.account != nil, token: settings.token)
        guard let leg = HTTP3Leg(over: handle.connection, as: identity, at: url.authority, on: loop) else {
            handle.connection.close(code: HTTP3Front.noError, reason: "")
            return false
        }
        leg.onHappening = { happening in self.assumeIsolated { $0.heard(happening) } }
        // From its admission on the relay gives it our packets, whatever carries ours just now.
        leg.onPacket = { packet, node in
            let packets = LegPackets(bytes: packet, segmentSize: packet.count)
            self.assumeIsolated { $0.deliver(packets, of: node) }
        }
        http3.opening = .asked(leg)
        return true
    }

    func giveUpHTTP3() {
        switch http3.opening {
        case .asked(let leg), .welcomed(let leg): leg.close()
        case .none, .failed: break
        }
        http3.opening = .none
    }

    // MARK: - Serving

    /// Carries the leg over the conversation that was opened, until its end, or until WebSocket is there instead.
    func serveHTTP3() async -> Opened {
        guard case .welcomed(let leg) = http3.opening else { return .failed(.ended) }
        (http3.opening, http3.fallBack) = (.none, .none)
        (http3.serving, http3.end) = (leg, nil)
        framing = nil
        output.removeAll()
        leg.onRoom = receiver?.room
        begin()
        let next = await withTaskGroup(of: Opened.self) { group in
            group.addTask { .failed(await self.http3Ended()) }
            group.addTask { .failed(await self.ping()) }
            group.addTask { await self.fallenBack() }
            return await first(of: &group)
        }
        http3.serving = nil
        leg.close()
        return next
    }

    private func http3Ended() async -> LegEnd {
        while http3.end == nil, !Task.isCancelled { await wait(unless: { http3.end != nil }) }
        return http3.end.map { LegEnd($0) } ?? .ended
    }

    func deliver(_ packets: LegPackets, of node: NodeID) {
        receiver?.deliver?(packets.bytes, packets.segmentSize, peers.number(of: node, now: loop.now))
    }

    private func heard(_ happening: HTTP3Leg.Happening) {
        switch happening {
        case .welcomed:
            if case .asked(let leg) = http3.opening { http3.opening = .welcomed(leg) }
        case .ponged(let value): return ponged(value)
        case .unanswered: return unanswered()
        case .gone(let node): return absent(node)
        case .health(let health): return changed(health)
        case .warned(let delay, _): return restarting(after: delay)
        case .ended(let end):
            switch http3.opening {
            case .asked, .welcomed: http3.opening = .failed(end)
            case .none, .failed: http3.end = end
            }
        }
        waiters.resumeAll()
    }

    // MARK: - Coming back

    /// While WebSocket carries the leg: returns when HTTP/3 is ready to take over.
    func returnToHTTP3() async -> LegEnd {
        while !Task.isCancelled {
            http3.isHurried = false
            await wait(until: endpoint == nil ? .distantFuture : loop.now.advanced(by: http3.retryAfter)) {
                http3.isHurried
            }
            guard !Task.isCancelled else { break }
            switch await openHTTP3() {
            case .ready: return .ended
            case .absent: await wait(until: .distantFuture) { false }
            case .failed: break
            }
        }
        return .ended
    }
}

extension LegEnd {
    init(_ end: HTTP3LegEnd) {
        self =
            switch end {
            case .connection(.idle): .silent
            case .connection: .ended
            case .unreachable(let words): .refused(words)
            case .refused(403, _): .denied("not authorized")
            case .refused(let status, _): .refused("the relay answered \(status) over HTTP/3")
            case .closed(RelayCloseCode.denied.rawValue, let reason): .denied(reason)
            case .closed: .ended
            case .violation(let words): .violation(words)
            }
    }
}
