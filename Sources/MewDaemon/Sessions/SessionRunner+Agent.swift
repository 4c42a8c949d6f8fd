import MewBase
import MewLoop
import MewSession
import MewWire

// The agent of the session: one turn or command at a time, in a task on the loop.

extension SessionRunner {
    func start(_ turn: AgentTurn) {
        let host = TurnHost(runner: self, turn: turn.turn, environment: environment)
        let leftover = core.record.process
        agentTask = environment.loop.spawn { [self] in
            if let leftover, let failure = await end(leftover, for: host) {
                return await ended(.turnEnded(turn.turn, failure))
            }
            let result = await agent.run(turn, host: host)
            await ended(.turnEnded(turn.turn, result))
        }
    }

    /// What is on record before the agent of a turn begins is none of its own: it did not die when it was to. As long as it lives no
    /// process is recorded beside it, so that nothing can run: it is asked again after growing waits, while people see why.
    ///
    /// - Returns: how the turn ends without its agent; nil when the way is free.
    private func end(_ leftover: AgentProcess, for host: TurnHost) async -> AgentResult? {
        var waits = Self.leftoverWaits[...]
        while true {
            guard let living = await environment.endLeftovers(leftover).first else { break }
            let name = "process \(leftover.number) of an earlier turn does not end (\(living.prefix(80)))"
            guard let wait = waits.popFirst() else {
                return .unavailable(
                    "Not run: \(name), and nothing runs beside it. Prompts that waited were not run either; send them again "
                        + "when it is gone.")
            }
            if wait == Self.leftoverWaits.first { try? await host.emit(.notice("Waiting: \(name).")) }
            guard await LoopClock(environment.loop).pause(for: wait) == .over else { return .cancelled }
        }
        // A turn that is cancelled meanwhile leaves the record to the next one.
        try? await host.didEnd(leftover)
        return nil
    }

    /// Half a minute in all: a process that hangs in the kernel comes back with its disk or its network soon, or not at all.
    private static let leftoverWaits = [1, 2, 4, 8, 15].map { Duration.seconds($0) }

    private func ended(_ end: SessionInput) {
        agentTask = nil
        submit(end)
        for waiter in endWaiters.values { waiter.resume() }
        endWaiters = [:]
    }

    func run(_ command: SessionCommand) {
        let host = TurnHost(runner: self, turn: nil, environment: environment)
        agentTask = environment.loop.spawn { [self] in
            let isDone: Bool
            switch command {
            case .forget:
                await agent.forget(id)
                isDone = true
            case .compact:
                isDone = await agent.compact(id, host: host)
            }
            await ended(.commandEnded(isDone: isDone))
        }
    }

    /// One call of the agent. Every call is answered: by the session, or when it breaks down.
    func call(_ call: AgentCall, turn: TurnID?) async -> AgentReply {
        guard let turn, health != .over else { return .failed(.gone) }
        if case .emit(let event) = call, event.isPiece, core.record.turn?.id == turn { return await tell(event, turn) }
        return await reply(to: call, turn)
    }

    func reply(to call: AgentCall, _ turn: TurnID) async -> AgentReply {
        callNumber += 1
        let id = AgentCallID(callNumber)
        return await withCheckedContinuation { reply in
            calls[id] = reply
            submit(.agent(id, call, turn: turn))
        }
    }

    /// Idempotent: a piece of streaming text is answered before it is stored.
    func answer(_ call: AgentCallID, _ reply: AgentReply) {
        calls.removeValue(forKey: call)?.resume(returning: reply)
    }

    /// Ends the turn as interrupted, and waits for the agent to be gone as long as a person would. Nothing is written afterwards.
    ///
    /// - Parameter end: why, `.shutDown` or `.deleting`.
    func shutDown(_ end: SessionInput = .shutDown) async {
        await perform(end)
        agentTask?.cancel()
        await agentEnded(within: Self.agentPatience)
        // What was decided meanwhile is stored first.
        await perform(.shutDown)
        stopWorking()
    }

    /// The end of everything that was promised in the session. To be stored with the writes that delete it, and then performed.
    func erasure() -> SessionStep {
        var last = core
        var erasure = last.handle(.erased, at: environment.moment)
        erasure.writes.removeAll { if case .advanceReceipt = $0 { false } else { true } }
        erasure.effects.removeAll { if case .receipt = $0 { false } else { true } }
        return erasure
    }

    func erased(_ erasure: SessionStep) {
        for effect in erasure.effects { perform(effect, for: nil) }
    }

    /// An agent that does not stop by then is left to the next start, which ends what it recorded.
    private static let agentPatience = Duration.seconds(5)

    private func agentEnded(within time: Duration) async {
        let loop = environment.loop
        callNumber += 1
        let number = callNumber
        await withCheckedContinuation { waiter in
            guard agentTask != nil else { return waiter.resume() }
            endWaiters[number] = waiter
            _ = loop.schedule(at: loop.now.advanced(by: time)) { [self] in
                assumeIsolated { $0.endWaiters.removeValue(forKey: number)?.resume() }
            }
        }
    }
}

/// What one turn of an agent sees of its session.
struct TurnHost: AgentHost {
    let runner: SessionRunner
    /// Nil while a command runs, which is no turn.
    let turn: TurnID?
    let environment: SessionEnvironment

    var ids: any IDSource { environment.ids }
    var now: WallTime { environment.wall }

    func emit(_ event: AgentEvent) async throws(AgentHostError) {
        _ = try await reply(to: .emit(event))
    }

    func requestPermission(_ request: ToolPermission) async throws(AgentHostError) -> PermissionVerdict {
        try await verdict(.permission(request))
    }

    func requestWorkspacePermission(path: String) async throws(AgentHostError) -> PermissionVerdict {
        try await verdict(.workspacePermission(path: path))
    }

    func ask(_ questions: [Question], call: CallID) async throws(AgentHostError) -> [String] {
        guard case .answers(let answers) = try await reply(to: .ask(questions, call: call)) else { throw .gone }
        return answers
    }

    func requestPlanApproval(_ plan: ProposedPlan, call: CallID) async throws(AgentHostError) -> PlanVerdict {
        guard case .plan(let verdict) = try await reply(to: .plan(plan, call: call)) else { throw .gone }
        return verdict
    }

    func proposeGoal(_ objective: String, call: CallID) async throws(AgentHostError) -> Bool {
        guard case .goal(let accepted) = try await reply(to: .goal(objective, call: call)) else { throw .gone }
        return accepted
    }

    func takeGuidance() async throws(AgentHostError) -> [String] {
        guard case .guidance(let words) = try await reply(to: .takeGuidance) else { throw .gone }
        return words
    }

    func willStart(_ process: AgentProcess) async throws(AgentHostError) {
        _ = try await reply(to: .willStart(process))
    }

    func didEnd(_ process: AgentProcess) async throws(AgentHostError) {
        _ = try await reply(to: .didEnd(process))
    }

    private func verdict(_ call: AgentCall) async throws(AgentHostError) -> PermissionVerdict {
        guard case .permission(let verdict) = try await reply(to: call) else { throw .gone }
        return verdict
    }

    private func reply(to call: AgentCall) async throws(AgentHostError) -> AgentReply {
        let reply = await runner.call(call, turn: turn)
        if case .failed(let error) = reply { throw error }
        return reply
    }
}
