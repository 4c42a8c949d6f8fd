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
        let command = try await ClientCommand.open(invocation.context)
        let target = try await command.daemon(of: invocation)
        let count = invocation[count] ?? 4
        try await command.connected(to: target) { session async throws(CommandFailure) in
            for number in 1...count {
                if number > 1 { try await pause(invocation.context) }
                try await ping(number, session)
            }
        }
        return .ok
    }

    /// As ping(8): fast enough to see a change, slow enough to be nobody's load.
    private static let interval: Duration = .seconds(1)

    private static func pause(_ context: CommandContext) async throws(CommandFailure) {
        guard (try? await LoopClock(context.runtime.loop).sleep(for: interval)) != nil else {
            throw CommandFailure(.internal, "the ping was interrupted")
        }
    }

    private static func ping(_ number: Int, _ session: DaemonSession) async throws(CommandFailure) {
        let clock = ContinuousClock()
        let start = clock.now
        try await session.attempt("ping \(session.name)") { () async throws(ClientError) in
            try await session.supervisor.ping()
        }
        let elapsed = clock.now - start
        let path = PathWords(await session.supervisor.linkStatus()?.path)
        session.output.json([
            "n": .integer(Int64(number)), "rtt_ms": .number(elapsed.milliseconds), "path": path.kind,
            "addr": path.address, "relay": path.relay,
        ])
        session.output.line("\(number)  \(Words.roundTrip(elapsed))  \(path.sentence)")
    }
}

/// A path as JSON fields and in words.
struct PathWords {
    private let path: LinkPath?

    init(_ path: LinkPath?) {
        self.path = path
    }

    var kind: JSON {
        switch path {
        case .direct: "direct"
        case .relay: "relay"
        case nil: .null
        }
    }

    var address: JSON { if case .direct(let address) = path { .string(address.description) } else { .null } }
    var relay: JSON { if case .relay(let url) = path { .string(url) } else { .null } }

    var sentence: String {
        switch path {
        case .direct(let address): "direct to \(address)"
        case .relay(let url): "through the relay \(url.printable(limit: 100))"
        case nil: "not connected"
        }
    }
}
