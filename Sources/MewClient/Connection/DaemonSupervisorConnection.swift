internal import MewBase
internal import MewWire

// One connection, from the dial to what its loss means.

extension DaemonSupervisor {
    /// Dials, says hello, and serves the connection to its end.
    func connectAndServe() async -> ConnectionEnd {
        await handle(.phase(.dialing(failures: policy.failures)))
        let link: any Link
        do throws(ConnectionEnd) {
            link = try await dial()
        } catch {
            return error
        }
        policy.linked()
        do throws(ConnectionEnd) {
            let (control, ready) = try await greet(link)
            return await serve(link, control, ready)
        } catch {
            await link.close(code: .done, reason: "")
            return error
        }
    }

    private func dial() async throws(ConnectionEnd) -> any Link {
        let dialer = environment.dialer
        let target = view.record.target(
            addresses: extraRoutes?.addresses ?? [], relays: extraRoutes?.relays ?? [])
        let result = await within(deadlines.dial, on: environment.clock) { () -> Result<any Link, DialError> in
            do throws(DialError) {
                return .success(try await dialer.dial(target))
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success(let link): return link
        case .failure(let error): throw ConnectionEnd(error)
        case nil:
            let routes = target.addresses.map {
                DialError.Attempt(route: .direct($0), outcome: "no answer in \(deadlines.dial.components.seconds) s")
            }
            throw .trouble(.unreachable(routes))
        }
    }

    private func serve(_ link: any Link, _ control: any MessageChannel, _ ready: ReadyLink) async -> ConnectionEnd {
        let (jobs, clock) = (Feed<@Sendable () async -> Void>(capacity: 64), environment.clock)
        connection = Connection(link: link, control: control, ready: ready, jobs: jobs)
        await becameReady(link, ready)
        let closure = await withTaskGroup(of: LinkClosure?.self) { group in
            group.addTask {
                let closure = await link.closed()
                jobs.finish()
                await self.endStockOpening()
                return closure
            }
            group.addTask {
                await self.readControl(control, ready)
                // Without it there is no conversation. The close that tells why is right behind it.
                _ = await within(Self.patienceForClose, on: clock) { await link.closed() }
                jobs.finish()
                return nil
            }
            for await job in jobs {
                group.addTask {
                    await job()
                    return nil
                }
            }
            await link.close(code: .done, reason: "")  // the first to close wins: a no-op after the peer's
            var closure: LinkClosure?
            for await next in group { closure = closure ?? next }
            return closure
        }
        let end = endOfConversation(closure)
        // A link that is ready is given up for one reason.
        let isGivenUp = Task.isCancelled
        await lostConnection(
            isGivenUp ? ClientError(.unreachable, "it gave no sign of life") : ClientError(end),
            lastProof: await lastProof(at: closure))
        return end
    }

    /// A daemon that ends the control channel is expected to close the link within this time.
    static let patienceForClose: Duration = .seconds(2)

    /// Our own goodbye is a stop only when somebody here stopped it: otherwise the daemon ended the control channel before.
    private func endOfConversation(_ closure: LinkClosure?) -> ConnectionEnd {
        let revoked = revocation.map {
            ConnectionEnd.refusal(.revoked(at: $0.at, reason: $0.reasonText))
        }
        switch ConnectionEnd(closure ?? .local(.done)) {
        case .stopped: return isStopped ? .stopped : revoked ?? .trouble(.lost("it ended the conversation"))
        case .refusal(.revoked(let at, let reason)): return revoked ?? .refusal(.revoked(at: at, reason: reason))
        case .refusal(let refusal): return .refusal(refusal)
        case .trouble(let trouble): return .trouble(trouble)
        }
    }

    private func becameReady(_ link: any Link, _ ready: ReadyLink) async {
        policy.becameReady()
        generation += 1
        revocation = nil
        let path = await link.status().path
        // Before anybody else can ask something. A link that is gone already says so when it is read.
        try? await send(.ping)
        await handle(.linkReady(ready, path))
        await adoptOrphans()
        await handle(.askAgain)
    }

    /// Keeps what was learnt about the daemon. A store that fails costs the memory, not the link.
    func remember(_ news: RecordNews) async {
        let node = view.record.node
        do throws(ClientStoreError) {
            try await environment.store.update { records throws(ClientStoreError) in
                records.registry.update(node) { news.apply(to: &$0) }
            }
        } catch {
            environment.diagnostics.record(
                Diagnostic(
                    .warning, "client", "record_not_saved", "what is known about a daemon was not saved: \(error)"))
        }
    }

    /// When the daemon was last there: it closed the link itself, or else its last acknowledgement.
    private func lastProof(at closure: LinkClosure?) async -> WallTime? {
        let now = environment.wallClock()
        if case .peer = closure { return now }
        guard let age = await proof() else { return nil }
        return WallTime(milliseconds: now.milliseconds - age.wholeMilliseconds)
    }

    private func lostConnection(_ reason: ClientError, lastProof: WallTime?) async {
        connection = nil
        waiters.failAll(ClientError(.unreachable, "the connection was lost"))
        endStockOpening()
        attempts.endAll()
        channels = [:]
        await handle(.linkLost(reason, lastProof: lastProof))
    }

    /// Nothing answers it on a link that has gone.
    private func endStockOpening() {
        stockOpening?.feed.finish()
        stockOpening = nil
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int64 { saturatingNanoseconds / 1_000_000 }
}
