import MewBase
import MewLoop
import MewSession
import MewWire

// Pieces of streaming text: those of 16 ms become one event (`PieceGatherer`).
//
// The agent goes on at once with a piece that is gathered. What bounds it: a piece that does not fit any more makes it wait for
// what was gathered before, and while the disk is far behind or takes nothing, time alone sends nothing on.

extension SessionRunner {
    /// One piece of the running turn.
    func tell(_ piece: AgentEvent, _ turn: TurnID) async -> AgentReply {
        var told = gatherer.add(piece, now: environment.loop.now)
        armGatherTimer()
        guard let last = told.popLast() else { return .done }
        for event in told { submit(gathered: event, turn) }
        return await reply(to: .emit(last), turn)
    }

    /// What was gathered comes before whatever happens next. With a disk that takes nothing only the agent's own words do that:
    /// others come as often as they like.
    func tellGathered(before input: SessionInput) {
        switch input {
        case .agent(_, .emit(let event), _) where event.isPiece: return
        case .agent, .turnEnded, .commandEnded: break
        case .attach, .resume, .drained, .detach, .request, .recovered, .shutDown, .deleting, .erased, .revoked,
            .lowered, .deadline:
            guard health == .saving else { return }
        }
        guard !gatherer.isEmpty, let turn = core.record.turn?.id else { return }
        for event in gatherer.flush() { submit(gathered: event, turn) }
    }

    /// What was gathered long enough, unless the disk is behind: then it goes on gathering, until the agent has to wait.
    func tellDue() {
        guard health == .saving, !isFarAhead, let turn = core.record.turn?.id else { return }
        for event in gatherer.due(now: environment.loop.now) { submit(gathered: event, turn) }
        armGatherTimer()
    }

    /// Nobody waits for the answer.
    private func submit(gathered event: AgentEvent, _ turn: TurnID) {
        callNumber += 1
        submit(.agent(AgentCallID(callNumber), .emit(event), turn: turn))
    }

    private func armGatherTimer() {
        guard gatherTimer == nil, let deadline = gatherer.nextDeadline else { return }
        gatherTimer = environment.loop.schedule(at: max(deadline, environment.loop.now)) { [self] in
            assumeIsolated { runner in
                runner.gatherTimer = nil
                runner.tellDue()
            }
        }
    }
}
