import MewClient
import MewWire

// The same prompt was sent before, and nobody knew whether it arrived: it is asked about before it is said again.

extension PromptTurn {
    /// The earlier one, if the daemon has it; nil when this one may be sent. Whatever the answer, the earlier one cannot run any
    /// more unless it has arrived.
    func arrivedBefore(_ text: String) async throws(CommandFailure) -> MewClient.Operation? {
        let earlier = try await daemon.attempt("send the prompt") { () async throws(ClientError) in
            try await daemon.supervisor.unknownPrompt(text, in: session)
        }
        guard let earlier else { return nil }
        let answer = try await ask(about: earlier)
        switch answer.state {
        case .absent, .refused: return nil
        case .stored, .delivered, .settled: return answer
        case .sending, .unknown: throw unknown("nobody knows yet")
        }
    }

    private func ask(about earlier: MewClient.Operation) async throws(CommandFailure) -> MewClient.Operation {
        do throws(ClientError) {
            return try await daemon.supervisor.check([earlier], settle: true).first ?? earlier
        } catch {
            throw unknown(error.message)
        }
    }

    private func unknown(_ why: String) -> CommandFailure {
        CommandFailure(
            ClientError(.deliveryUnknown, "the same prompt may have arrived before: \(why)"),
            doing: "send the prompt", daemon: daemon.name)
    }
}
