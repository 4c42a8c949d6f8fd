import MewBase
import MewClient
import MewLoop
import MewWire

extension Command {
    private static let count = Option<Int>(
        "count", "N", short: "c", "how many round trips (default 4)", read: Readers.integer("--count", in: 1...100_000))

    static let ping = Command(
        "ping", "measure round trips to a daemon, and say which way they go",
        positionals: [Common.daemon.required], options: [count.spec] + Common.routes,
        examples: ["mew ping desk -c 3"]
    ) { invocation async throws(CommandFailure) in
        let command = try await ClientCommand.open(invocation)
        let target = try await command.daemon(of: invocation)
        let count = invocation[count] ?? 4
        try await command.connected(to: target) { session async throws(CommandFailure) in
            var tally = PingTally()
            for number in 1...count {
                if number > 1 { try await pause(invocation.context) }
                tally.add(try await ping(number, session))
            }
            if let summary = tally.summary { session.output.sentence(summary) }
            if let reason = await session.supervisor.linkStatus()?.whyNotDirect {
                session.output.sentence(PingTally.sentence(reason))
            }
            await warnOfRelays(session)
        }
        return .ok
    }

    /// Another way works, so that nobody would hear of it.
    private static func warnOfRelays(_ session: DaemonSession) async {
        let named = session.command.relayUse.given.relays
        for relay in await session.supervisor.linkStatus()?.relays ?? [] {
            guard let words = PingTally.words(on: relay, named: named) else { continue }
            session.output.warning("the relay \(relay.url.printable(limit: 100)) \(words).")
        }
    }

    /// As ping(8): fast enough to see a change, slow enough to be nobody's load.
    private static let interval: Duration = .seconds(1)

    private static func pause(_ context: CommandContext) async throws(CommandFailure) {
        guard await LoopClock(context.runtime.loop).pause(for: interval) == .over else {
            throw CommandFailure(.internal, "the ping was interrupted")
        }
    }

    private static func ping(
        _ number: Int, _ session: DaemonSession
    ) async throws(CommandFailure) -> PingTally.Reply {
        let clock = ContinuousClock()
        let start = clock.now
        try await session.attempt("ping \(session.name)") { () async throws(ClientError) in
            try await session.supervisor.ping()
        }
        let elapsed = clock.now - start
        let status = await session.supervisor.linkStatus()
        session.output.json(PingTally.row(number, elapsed, status))
        session.output.line("\(number)  \(Words.roundTrip(elapsed))  \(PathWords(status?.path).sentence)")
        return PingTally.Reply(roundTrip: elapsed, path: status?.path)
    }
}

/// What the replies of one `mew ping` came to. A value.
struct PingTally {
    struct Reply {
        let roundTrip: Duration
        let path: LinkPath?
    }

    private var replies: [Reply] = []

    mutating func add(_ reply: Reply) {
        replies.append(reply)
    }

    /// Nil when there is nothing to sum up.
    var summary: String? {
        guard replies.count > 1 else { return nil }
        let times = replies.map(\.roundTrip).sorted()
        let words =
            "\(replies.count) replies, round trip \(Words.roundTrip(times[0])) to "
            + "\(Words.roundTrip(times[times.count - 1])), median \(Words.roundTrip(Self.median(times)))"
        return ([words] + [pathWords].compactMap { $0 }).joined(separator: "; ")
    }

    /// The mean of the two in the middle when there are two.
    private static func median(_ sorted: [Duration]) -> Duration {
        (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    /// One reply for programs; with the reason, while it is relayed.
    static func row(_ number: Int, _ roundTrip: Duration, _ status: LinkStatus?) -> JSONObject {
        let (path, reason) = (PathWords(status?.path), status?.whyNotDirect)
        return [
            "n": .integer(Int64(number)), "rtt_ms": .number(roundTrip.milliseconds), "path": path.kind,
            "addr": path.address, "relay": path.relay,
            "why_not_direct": reason.map { .string($0.code.rawValue) } ?? .null,
            "why_text": reason.map { .string($0.text) } ?? .null,
        ]
    }

    /// What was wrong with a relay; nil when nothing was, or nobody wants to know.
    ///
    /// - Parameter named: those of the command line, of which something is expected.
    static func words(on relay: RelayCandidate, named: [RelayURL]) -> String? {
        switch relay.state {
        case .failed(let problem): "was of no use: \(problem.printable(limit: 160))"
        case .connecting:
            (try? RelayURL(relay.url)).flatMap { url in
                named.contains { $0.isSamePlace(as: url) } ? "has not answered so far" : nil
            }
        case .connected, .notWanted: nil
        }
    }

    /// Why the last of them went through a relay, and what would help.
    static func sentence(_ reason: WhyNotDirect) -> String {
        let help = reason.help.map { ". \($0.printable(limit: 300))" } ?? ""
        return "not direct: \(reason.text.printable(limit: 300))\(help)"
    }

    /// How the path changed; nil when it did not.
    private var pathWords: String? {
        let direct = replies.map { if case .direct = $0.path { true } else { false } }
        guard let first = direct.firstIndex(of: true) else { return nil }
        if let lost = direct.lastIndex(of: false), lost > first { return "direct for a while, now and then not" }
        return first == 0 ? nil : "direct after \(Words.count(first, "ping"))"
    }
}
