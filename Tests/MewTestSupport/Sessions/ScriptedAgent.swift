package import MewSession
package import MewWire
internal import Synchronization

/// An agent that plays what a test wrote down: one script per turn, in order; turns beyond the last script end at once.
package final class ScriptedAgent: AgentBackend {
    package enum Step: Sendable {
        case emit(AgentEvent)
        /// Asks; when it is denied, plays `otherwise` instead of what follows.
        case permission(ToolPermission, otherwise: [Step] = [])
        case ask([Question], call: CallID)
        /// Waits until the turn is cancelled.
        case hang
        /// Waits until the test opens the gate.
        case wait(ScriptGate)
        case run(@Sendable (any AgentHost) async throws(AgentHostError) -> Void)
        case end(AgentResult)
    }

    /// One thing that was done, for tests that count.
    package enum Deed: Hashable, Sendable {
        case began(TurnID, text: String)
        case ended(TurnID)
        case forgot(SessionID)
        case compacted(SessionID)
        case answers([String])
        /// Guidance that came with a turn.
        case guided([String])
    }

    package let name: String
    package let models: [ModelInfo]
    package let defaultModel: ModelName?
    package let defaultThinkingVariant: String?
    package let personas: [AgentPersona]
    /// Commands wait for it, until they are cancelled.
    private let commandGate: ScriptGate?
    /// Forgetting a session waits for it, and does not hear that it is cancelled.
    private let forgetGate: ScriptGate?
    private let state: Mutex<State>

    private struct State {
        var scripts: [[Step]]
        var deeds: [Deed] = []
    }

    package init(
        _ scripts: [[Step]], name: String = "scripted", models: [ModelInfo] = [], defaultModel: ModelName? = nil,
        defaultThinkingVariant: String? = nil, personas: [AgentPersona] = [],
        commandGate: ScriptGate? = nil, forgetGate: ScriptGate? = nil
    ) {
        (self.name, self.models, self.defaultModel, self.personas) = (name, models, defaultModel, personas)
        self.defaultThinkingVariant = defaultThinkingVariant
        (self.commandGate, self.forgetGate) = (commandGate, forgetGate)
        state = Mutex(State(scripts: scripts))
    }

    package var deeds: [Deed] { state.withLock { $0.deeds } }

    private func note(_ deed: Deed) { state.withLock { $0.deeds.append(deed) } }

    package func run(_ turn: AgentTurn, host: any AgentHost) async -> AgentResult {
        note(.began(turn.turn, text: turn.text))
        if !turn.guidance.isEmpty { note(.guided(turn.guidance)) }
        defer { note(.ended(turn.turn)) }
        let script = state.withLock { $0.scripts.isEmpty ? [] : $0.scripts.removeFirst() }
        do throws(AgentHostError) { return try await play(script, host) } catch { return .cancelled }
    }

    package func forget(_ session: SessionID) async {
        note(.forgot(session))
        await forgetGate?.passDeaf()
    }

    package func compact(_ session: SessionID, host: any AgentHost) async -> Bool {
        note(.compacted(session))
        do throws(AgentHostError) { try await commandGate?.pass() } catch { return false }
        return true
    }

    private func play(_ script: [Step], _ host: any AgentHost) async throws(AgentHostError) -> AgentResult {
        for step in script {
            switch step {
            case .emit(let event): try await host.emit(event)
            case .permission(let request, let otherwise):
                let verdict = try await host.requestPermission(request)
                if !verdict.isAllowed { return try await play(otherwise, host) }
            case .ask(let questions, let call):
                note(.answers(try await host.ask(questions, call: call)))
            case .hang: try await ScriptGate().pass()
            case .wait(let gate): try await gate.pass()
            case .run(let body): try await body(host)
            case .end(let result): return result
            }
        }
        return .completed
    }
}

/// A door that a test opens; whoever waits at it goes through, or is cancelled.
package final class ScriptGate: Sendable {
    /// Resumed once: with true when the gate opens, with false when its task is cancelled.
    private struct Waiter: Sendable {
        let resume: @Sendable (Bool) -> Void
    }

    private struct State {
        var isOpen = false
        var waiting: [UInt64: Waiter] = [:]
        var number: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return state.waiting
        }
        for one in waiting.values { one.resume(true) }
    }

    /// Waits, and does not hear that its task is cancelled: like an agent that is stuck.
    package func passDeaf() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                state.number += 1
                if !state.isOpen {
                    state.waiting[state.number] = Waiter { _ in continuation.resume() }
                }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    package func pass() async throws(AgentHostError) {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        let isThrough = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = state.withLock { state -> Bool? in
                    if Task.isCancelled { return false }
                    if state.isOpen { return true }
                    state.waiting[number] = Waiter { continuation.resume(returning: $0) }
                    return nil
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(false)
        }
        if !isThrough { throw .cancelled }
    }
}
