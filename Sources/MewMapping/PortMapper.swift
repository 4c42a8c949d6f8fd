package import MewBase
package import MewLoop

/// Keeps one UDP port of this machine open at the router in front of it, as long as it runs. Pinned to a loop.
package actor PortMapper {
    package nonisolated let unownedExecutor: UnownedSerialExecutor
    private let loop: any Loop
    private let port: UInt16
    private let routers: any Routers
    private let changed: @Sendable (MappingPlan.Result) -> Void
    private var plan: MappingPlan
    private var timer: LoopTimer?
    private var told = MappingPlan.Result.asking

    /// How long a stop waits for the router to take its port back; without an answer the mapping lapses by itself.
    package static let patience: Duration = .seconds(2)

    /// - Parameters:
    ///   - port: of the UDP socket.
    ///   - changed: called on the loop when there is something new to know.
    package init(
        port: UInt16, on loop: any Loop, routers: any Routers, changed: @escaping @Sendable (MappingPlan.Result) -> Void
    ) {
        (self.loop, self.port, self.routers, self.changed) = (loop, port, routers, changed)
        unownedExecutor = loop.asUnownedSerialExecutor()
        plan = MappingPlan(port: port, now: loop.now)
    }

    package func start() { look() }

    package var result: MappingPlan.Result { plan.result }
    /// Where others reach us through the router; nil while nothing is open.
    package var candidate: SocketAddress? { plan.candidate }

    package func networkChanged() {
        plan.networkChanged(now: loop.now)
        look()
    }

    /// Gives the port back.
    package func stop() async {
        let last = plan.stop()
        cancelTimer()
        guard case .release(let mapping)? = last else { return }
        let (routers, port) = (routers, port)
        await withTimeLimit(Self.patience, on: loop) { await routers.release(mapping, port: port) }
    }

    private func look() {
        if let request = plan.look(now: loop.now) { loop.spawn { await self.perform(request) } }
        cancelTimer()
        timer = plan.deadline.map { deadline in
            loop.schedule(at: deadline) { [weak self] in self?.assumeIsolated { $0.look() } }
        }
        guard plan.result != told else { return }
        told = plan.result
        changed(told)
    }

    private func cancelTimer() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    private func perform(_ request: MappingPlan.Request) async {
        switch request {
        case .ask(let external): await take(routers.open(port: port, external: external))
        case .prolong(let mapping): await take(routers.prolong(mapping, port: port))
        case .release(let mapping): await routers.release(mapping, port: port)
        }
    }

    private func take(_ answer: Routers.Answer) async {
        if let useless = plan.answered(answer, now: loop.now) { await perform(useless) }
        look()
    }
}
