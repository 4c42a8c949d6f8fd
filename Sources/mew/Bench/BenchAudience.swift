import MewBase
import MewLoop
import MewSession
import MewWire

/// Sessions whose agents talk (`BenchAgent`), and clients that listen: how much, how late.
///
/// Every client has a connection of its own. Those that let the agents talk leave before they do.
struct BenchAudience: Sendable {
    let sessions: Int
    let clients: Int
    /// Of each session.
    let events: Int
    /// What each agent is told.
    let prompt: String

    struct Result: Sendable {
        /// From the first prompt until the last turn's end was told to everybody.
        var stored = Duration.zero
        /// Until the last client had the last event.
        var delivered = Duration.zero
        var gaps = 0
        /// From the agent's call to the client's hands.
        var delays = RoundTrips([])
    }

    private struct Heard: Sendable {
        var gaps = 0
        var delays: [Duration] = []
    }

    func measure(_ target: BenchLink.Target) async throws(CommandFailure) -> Result {
        let speaker = try await BenchLink.open(1, to: target)[0]
        var stages: [(channel: BenchChannel, session: SessionID, head: SequenceNumber)] = []
        for _ in 0..<sessions {
            let channel = try await speaker.openChannel()
            let screen = try await channel.make(agent: BenchAgent.agentName)
            guard let session = screen.ready?.sessionID else { throw CommandFailure(.internal, "no session was made") }
            stages.append((channel, session, screen.head))
        }
        let links = clients == 0 ? [] : try await BenchLink.open(clients, to: target)
        let channels = try await attach(links, to: stages.map(\.session), target)
        let listeners = channels.enumerated().map { number, channel in
            let stage = stages[number % sessions]
            // The prompt and the turn's beginning come before the agent's words.
            let last = SequenceNumber(stage.head.rawValue + 2 + UInt64(events))
            return target.loop.spawn { await Self.listen(channel, stage.session, last) }
        }
        let result = try await talk(stages.map(\.channel), speaker, listeners, target)
        withExtendedLifetime(links) {}
        return result
    }

    /// Returns when each has heard of all others: that many words about who is there are not what is measured.
    private func attach(
        _ links: [BenchLink], to sessions: [SessionID], _ target: BenchLink.Target
    ) async throws(CommandFailure) -> [BenchChannel] {
        var channels: [BenchChannel] = []
        var arrivals: [Task<CommandFailure?, Never>] = []
        for (number, link) in links.enumerated() {
            let channel = try await link.openChannel()
            _ = try await channel.attach(sessions[number % sessions.count])
            // Whoever lets the agent talk is one of them, and the client itself is none.
            let others = (links.count - 1 - number % sessions.count) / sessions.count + 1
            channels.append(channel)
            arrivals.append(target.loop.spawn { await Self.hear(of: others, on: channel) })
        }
        for arrival in arrivals { if let failure = await arrival.value { throw failure } }
        return channels
    }

    private static func hear(of others: Int, on channel: BenchChannel) async -> CommandFailure? {
        var left = others
        do throws(CommandFailure) {
            while left > 0 { if RawFrame(try await channel.next()).isOf(.clientAttached) { left -= 1 } }
            return nil
        } catch {
            return error
        }
    }

    private func talk(
        _ channels: [BenchChannel], _ speaker: BenchLink,
        _ listeners: [Task<Swift.Result<Heard, CommandFailure>, Never>], _ target: BenchLink.Target
    ) async throws(CommandFailure) -> Result {
        let clock = ContinuousClock()
        let start = clock.now
        let prompts = channels.map { channel in
            target.loop.spawn { [prompt] () async -> CommandFailure? in
                do throws(CommandFailure) { try await channel.prompt(prompt) } catch { return error }
                await channel.leave()
                return nil
            }
        }
        var result = Result()
        try await speaker.untilIdle(channels.count)
        result.stored = start.duration(to: clock.now)
        for prompt in prompts { if let failure = await prompt.value { throw failure } }
        var delays: [Duration] = []
        for listener in listeners {
            let heard = try await listener.value.get()
            result.gaps += heard.gaps
            delays += heard.delays
        }
        result.delivered = start.duration(to: clock.now)
        result.delays = RoundTrips(delays)
        return result
    }

    /// Reads until the event `last`. Whoever gets a gap goes on from there.
    private static func listen(
        _ channel: BenchChannel, _ session: SessionID, _ last: SequenceNumber
    ) async -> Swift.Result<Heard, CommandFailure> {
        var heard = Heard()
        var seen = SequenceNumber.zero
        do throws(CommandFailure) {
            while seen < last {
                let bytes = try await channel.next()
                let frame = RawFrame(bytes)
                if let stamp = frame.stamp {
                    let now = BenchClock.now
                    heard.delays.append(.nanoseconds(Int64(clamping: now - min(stamp, now))))
                } else if frame.isOf(.gap) {
                    heard.gaps += 1
                    try await channel.resume(session, after: seen)
                    continue
                }
                if let sequence = frame.sequence { seen = max(seen, sequence) }
            }
            return .success(heard)
        } catch {
            return .failure(error)
        }
    }
}
