import MewBase
import MewClient
import MewDaemon
import MewIdentity
import MewLoop
import MewQUIC
import MewSession
import MewWire

// `mew bench …` for sessions: what they cost to store, to tell many clients, and to come back to.

extension Command {
    private static let session = Positional<SessionID>("SESSION", "the session's whole ID") { text throws(UsageError) in
        guard let id = SessionID(text) else { throw UsageError("SESSION must be the ID of a session") }
        return id
    }
    private static let bind = Option<SocketAddress>(
        "bind", "IP:PORT", "where to listen (default 127.0.0.1:0)", read: Readers.socketAddress("--bind"))
    private static let events = Option<Int>(
        "events", "N", "how many events", read: Readers.integer("--events", in: 10...100_000_000))
    private static let bytes = Option<Int>(
        "bytes", "N", "of their texts",
        read: Readers.integer("--bytes", in: 1...1_000_000_000_000))
    private static let rounds = Option<Int>(
        "count", "N", "how many times (default 20)", read: Readers.integer("--count", in: 1...1_000_000))
    private static let crowd = Option<Int>(
        "crowd", "N", "so many connections at the same time (default 1)",
        read: Readers.integer("--crowd", in: 1...1_000))
    private static let milliseconds = Option<Int>(
        "milliseconds", "N", "how long (default 3000)", read: Readers.integer("--milliseconds", in: 1...600_000))

    // MARK: - The other side

    static let benchDesk = Command(
        "bench desk", "a daemon with an agent that talks as told",
        options: [bind.spec],
        details: [
            "The same program as 'mew daemon'; the agent 'bench' takes \(BenchAgent.usage)."
        ]
    ) { invocation async throws(CommandFailure) in
        let context = invocation.context
        var options = DaemonOptions()
        options.bind = [invocation[bind] ?? .loopback(port: 0)]
        options.name = "desk"
        options.level = .error
        options.extraAgents = { [BenchAgent(loop: $0.network)] }
        return try await DaemonRun(context, options).run { readiness async throws(CommandFailure) in
            context.output.json([
                "event": "ready", "node_id": .string(readiness.node.z32),
                "addrs": .array(readiness.addresses.map { .string($0.description) }),
            ])
            context.output.line("mew-node-id:\(readiness.node.z32)")
            return .ok
        }
    }

    static let benchBigSession = Command(
        "bench big-session", "put a long session into the store of this state directory",
        options: [events.spec, bytes.spec], details: ["No daemon may run on it."]
    ) { invocation async throws(CommandFailure) in
        let start = ContinuousClock.now
        let big = BigSession(events: invocation[events] ?? 200_000, bytes: invocation[bytes] ?? 500_000_000)
        let built = try await big.build(in: try invocation.context.stateDirectory())
        report(
            invocation,
            [
                "session_id": .string(built.session.text), "events": .integer(Int64(clamping: built.events)),
                "seconds": .number(start.duration(to: .now).milliseconds / 1_000),
            ])
        return .ok
    }

    // MARK: - Attaching

    static let benchAttach = Command(
        "bench attach", "measure from 'attach_session' to 'caught_up'",
        positionals: [Common.daemon.required, session.required],
        options: [rounds.spec, crowd.spec, benchPause.spec] + Common.routes
    ) { invocation async throws(CommandFailure) in
        let (target, id) = (try await BenchLink.Target(invocation), try invocation.required(session))
        let (count, pause) = (invocation[rounds] ?? 20, Duration.milliseconds(invocation[benchPause] ?? 0))
        let clock = LoopClock(target.loop)
        let links = try await BenchLink.open(invocation[crowd] ?? 1, to: target)
        invocation.context.output.json(["event": "ready", "connections": .integer(Int64(links.count))])
        let tasks = links.map { link in
            target.loop.spawn { () async -> Result<[BenchChannel.Screen], CommandFailure> in
                do throws(CommandFailure) {
                    return .success(try await screens(of: id, count, pause, on: link, clock))
                } catch {
                    return .failure(error)
                }
            }
        }
        var found: [BenchChannel.Screen] = []
        for task in tasks { found += try await task.value.get() }
        let times = RoundTrips(found.map(\.time))
        report(
            invocation,
            [
                "first_ms": .number(found[0].time.milliseconds), "p50_ms": .number(times.median / 1_000),
                "p99_ms": .number(times.ninetyNine / 1_000), "worst_ms": .number(times.worst / 1_000),
                "bytes": .integer(Int64(found.map(\.bytes).max() ?? 0)),
                "frames": .integer(Int64(found.map(\.frames).max() ?? 0)),
            ])
        return .ok
    }

    private static func screens(
        of session: SessionID, _ count: Int, _ pause: Duration, on link: BenchLink, _ clock: LoopClock
    ) async throws(CommandFailure) -> [BenchChannel.Screen] {
        var screens: [BenchChannel.Screen] = []
        for _ in 0..<count {
            let channel = try await link.openChannel()
            screens.append(try await channel.attach(session))
            await channel.leave()
            if pause > .zero { _ = await clock.pause(for: pause) }
        }
        return screens
    }

    static let benchReplay = Command(
        "bench replay", "measure how long 1,000 missed events take",
        positionals: [Common.daemon.required], options: [rounds.spec] + Common.routes
    ) { invocation async throws(CommandFailure) in
        let target = try await BenchLink.Target(invocation)
        let link = try await BenchLink.open(1, to: target)[0]
        let maker = try await link.openChannel()
        guard let id = try await maker.make(agent: BenchAgent.agentName).ready?.sessionID else {
            throw CommandFailure(.internal, "no session was made")
        }
        try await maker.prompt("events 1200 64")
        try await link.untilIdle(1)
        await maker.leave()
        let channel = try await link.openChannel()
        let now = try await channel.attach(id)
        await channel.leave()
        guard let epoch = now.ready?.epoch else { throw CommandFailure(.internal, "the daemon names no epoch") }
        var times: [Duration] = []
        let missed = SequenceNumber(now.head.rawValue - 1_000)
        for _ in 0..<(invocation[rounds] ?? 20) {
            let channel = try await link.openChannel()
            let screen = try await channel.attach(id, after: (missed, epoch))
            guard screen.ready?.resume == .replay, screen.frames > 1_000 else {
                throw CommandFailure(.internal, "the daemon did not replay")
            }
            times.append(screen.time)
            await channel.leave()
        }
        report(
            invocation,
            [
                "p50_ms": .number(RoundTrips(times).median / 1_000),
                "p99_ms": .number(RoundTrips(times).ninetyNine / 1_000),
            ])
        return .ok
    }

    // MARK: - Many

    private static let talkers = Option<Int>(
        "sessions", "N", "how many sessions talk (default 1)", read: Readers.integer("--sessions", in: 1...64))
    private static let clients = Option<Int>(
        "clients", "N", "how many clients listen, each on a connection of its own (default 0)",
        read: Readers.integer("--clients", in: 0...1_000))
    private static let lanes = Option<Int>(
        "lanes", "N", "how many events of a session are told at the same time (default 1)",
        read: Readers.integer("--lanes", in: 1...1_000))
    private static let rate = Option<Int>(
        "rate", "N", "so many events a second and session, instead of as fast as they are stored",
        read: Readers.integer("--rate", in: 1...1_000_000))

    static let benchFanout = Command(
        "bench fanout", "measure events stored and told to many, by 'bench desk'",
        positionals: [Common.daemon.required],
        options: [talkers.spec, clients.spec, events.spec, lanes.spec, rate.spec] + Common.routes
    ) { invocation async throws(CommandFailure) in
        let (count, sessions) = (invocation[events] ?? 1_000, invocation[talkers] ?? 1)
        let prompt =
            invocation[rate].map { "paced \(count) \($0)" } ?? "events \(count) \(invocation[lanes] ?? 1)"
        let audience = BenchAudience(
            sessions: sessions, clients: invocation[clients] ?? 0, events: count, prompt: prompt)
        let result = try await audience.measure(try await BenchLink.Target(invocation))
        let all = Double(count * sessions)
        report(
            invocation,
            [
                "stored_per_second": .number(all * 1_000 / result.stored.milliseconds),
                "told_per_second": .number(all * 1_000 / result.delivered.milliseconds),
                "p50_ms": .number(result.delays.median / 1_000), "p99_ms": .number(result.delays.ninetyNine / 1_000),
                "worst_ms": .number(result.delays.worst / 1_000), "heard": .integer(Int64(result.delays.count)),
                "gaps": .integer(Int64(result.gaps)),
            ])
        return .ok
    }

    private static let writers = Option<Int>(
        "writers", "N", "how many commit at the same time (default 1)",
        read: Readers.integer("--writers", in: 1...1_000)
    )

    static let benchCommits = Command(
        "bench commits", "measure the store alone: commits made durable in a second",
        options: [writers.spec, milliseconds.spec]
    ) { invocation async throws(CommandFailure) in
        let rate = try await BenchStore(writers: invocation[writers] ?? 1).commitsPerSecond(
            in: try invocation.context.stateDirectory(), for: .milliseconds(invocation[milliseconds] ?? 3_000),
            on: invocation.context.runtime.loop)
        report(invocation, ["per_second": .number(rate)])
        return .ok
    }

    // MARK: - Hostile

    private static let mode = Positional<HostileClient.Mode>(
        "MODE", HostileClient.Mode.allCases.map(\.rawValue).joined(separator: ", ")
    ) { text throws(UsageError) in
        guard let mode = HostileClient.Mode(rawValue: text) else { throw UsageError("there is no mode '\(text)'") }
        return mode
    }

    static let benchHostile = Command(
        "bench hostile-session", "ask a daemon for much memory, and stay",
        positionals: [mode.required, Common.daemon.required, session.required],
        options: [milliseconds.spec] + Common.routes
    ) { invocation async throws(CommandFailure) in
        let command = try await ClientCommand.open(invocation)
        let daemon = try await command.daemon(of: invocation)
        let routes = daemon.record.target(addresses: daemon.routes.addresses, relays: [])
        let client = HostileClient(mode: try invocation.required(mode), session: try invocation.required(session))
        let attack = try await client.attack(
            routes.node, at: routes.addresses, as: try invocation.context.key(),
            for: .milliseconds(invocation[milliseconds] ?? 3_000), on: invocation.context.runtime.loop)
        invocation.context.output.json(["event": "ready", "said": .integer(Int64(await attack.said))])
        invocation.context.output.line("All is said; end with Ctrl-C.")
        await attack.untilClosed()
        return .ok
    }
}
