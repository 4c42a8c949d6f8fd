package import MewBase
package import MewIdentity
package import MewLoop
package import MewRelay
package import MewWire

/// Keeps the signed record of this node at its relays: relay URLs only, because addresses would tell everybody who knows the
/// node ID where the machine is (DESIGN §7).
///
/// Each time it is signed anew: to a relay the same bytes again are what anybody can send, and lengthen no record's life.
///
/// Pinned to the loop it is given; `stop` ends what is under way.
package actor RecordPublisher {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private nonisolated let loop: any Loop
    private let secret: SecretKey
    private let service: RecordService
    private let nextTimestamp: @Sendable () async -> UInt64
    private let diagnostics: any DiagnosticSink

    private var plan: PublicationPlan
    private var relays: [RelayURL]?
    private var timer: LoopTimer?
    private var tasks: [UInt64: Task<Void, Never>] = [:]
    private var lastTask: UInt64 = 0
    private var isStopped = false
    private var warnings: [RelayURL: RepeatedWarning] = [:]

    /// - Parameters:
    ///   - places: the relays at which it is published.
    ///   - token: what a relay wants before it keeps something; nil for one that is shown nothing.
    ///   - nextTimestamp: larger than every one before, also those of earlier processes (spec/iroh-wire.md §5.3).
    package init(
        secret: SecretKey, places: [RelayURL], token: @escaping @Sendable (RelayURL) -> String?,
        connector: any RelayConnector, loop: any Loop, diagnostics: any DiagnosticSink,
        nextTimestamp: @escaping @Sendable () async -> UInt64
    ) {
        self.secret = secret
        self.loop = loop
        self.diagnostics = diagnostics
        self.nextTimestamp = nextTimestamp
        unownedExecutor = loop.asUnownedSerialExecutor()
        service = RecordService(connector: connector, loop: loop, token: token)
        plan = PublicationPlan(places)
    }

    package var states: [RelayURL: PublicationPlan.State] { plan.states }

    /// The node is at `relays` from now on, home first.
    package func publish(_ relays: [RelayURL]) {
        guard relays != self.relays, !isStopped else { return }
        self.relays = relays
        plan.changed(now: loop.now)
        work()
    }

    /// There is a new connection to that relay.
    package func connected(to url: RelayURL) {
        plan.connected(url, now: loop.now)
        work()
    }

    package func stop() {
        isStopped = true
        if let timer { loop.cancel(timer) }
        timer = nil
        for task in tasks.values { task.cancel() }
    }

    // MARK: - Work

    private func work() {
        guard !isStopped else { return }
        let due = plan.take(now: loop.now)
        if !due.isEmpty { start { await self.publish(at: due) } }
        rearm()
    }

    /// One record for all of them: who asks several relays hears the same.
    private func publish(at places: [RelayURL]) async {
        let timestamp = await nextTimestamp()
        // A change that came meanwhile is in it; those places are due again all the same, for a later timestamp.
        guard !isStopped, let relays else { return }
        let record = SignedRecord(AddressRecord(relays: relays), timestamp: timestamp, secret: secret)
        for url in places { start { await self.publish(record, at: url) } }
    }

    private func publish(_ record: SignedRecord, at url: RelayURL) async {
        var failure: LookupFailure?
        do throws(LookupFailure) {
            try await service.publish(record, at: url)
        } catch {
            failure = error
        }
        guard !isStopped else { return }
        plan.ended(url, failure, now: loop.now)
        report(url, failure)
        work()
    }

    private func rearm() {
        if let timer { loop.cancel(timer) }
        timer = plan.nextDeadline.map { deadline in
            loop.schedule(at: deadline) { self.assumeIsolated { $0.work() } }
        }
    }

    private func start(_ body: @escaping @Sendable () async -> Void) {
        lastTask += 1
        let number = lastTask
        tasks[number] = loop.spawn {
            await body()
            await self.finished(number)
        }
    }

    private func finished(_ number: UInt64) { tasks[number] = nil }

    private func report(_ url: RelayURL, _ failure: LookupFailure?) {
        let level = level(url, failure)
        diagnostics.record(ifWanted: level) {
            guard let failure else {
                return Diagnostic(level, "lookup", "record_published", "published at \(url) where this node is")
            }
            return Diagnostic(
                level, "lookup", "record_not_published", "could not publish at \(url) where this node is: \(failure)")
        }
    }

    /// A relay that cannot be reached is the business of the leg to it, which says so; what else fails is said once.
    private func level(_ url: RelayURL, _ failure: LookupFailure?) -> Diagnostic.Level {
        guard let failure else { return .debug }
        switch failure {
        case .stream, .timedOut: return .debug
        case .malformed, .status, .badRecord:
            let isDue = warnings[url, default: RepeatedWarning()].isDue("\(failure)", now: loop.now)
            return isDue ? .warning : .debug
        }
    }
}
