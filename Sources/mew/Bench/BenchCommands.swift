import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewRelay
import MewWire

// `mew bench …`: the measurements that Scripts/bench puts beside those of other implementations.

extension Command {
    static let benches: [Command] = [
        benchServe, benchHandshakes, benchEcho, benchReceive, benchBeside, benchHold, benchCrowd, benchPing,
        benchDesk, benchBigSession, benchAttach, benchReplay, benchFanout, benchCommits, benchHostile,
    ]

    private static let node = Positional<NodeID>("NODE", "the node ID that 'mew bench serve' printed") {
        text throws(UsageError) in
        do throws(NodeIDTextError) { return try NodeID(text: text) } catch {
            throw UsageError("NODE must be a node ID: \(error)")
        }
    }
    private static let place = Positional<BenchPlace>(
        "WHERE", "its IP:PORT, or the URL of the relay it is on", read: BenchPlace.read)
    private static let bind = Option<SocketAddress>(
        "bind", "IP:PORT", "where to listen (default 127.0.0.1:0)", read: Readers.socketAddress("--bind"))
    private static let benchRelay = Option<RelayURL>(
        "relay", "URL", "be on this relay as well", read: Readers.relayURL("--relay"))
    private static let http3 = Flag("http3", "reach the relay over HTTP/3 where it answers that")
    private static let bbr = Flag("bbr", "send with BBR instead of CUBIC")
    private static let seconds = Option<Int>(
        "milliseconds", "N", "how long to measure (default 5000)",
        read: Readers.integer("--milliseconds", in: 1...600_000))
    private static let inFlight = Option<Int>(
        "in-flight", "N",
        "handshakes at the same time (default 1, at most 8: a listener takes no more from one network)",
        read: Readers.integer("--in-flight", in: 1...8))
    private static let count = Option<Int>(
        "count", "N", "how many round trips (default 20000)", read: Readers.integer("--count", in: 1...10_000_000))
    private static let bytes = Option<Int>(
        "bytes", "N", "how much to receive (default 1000000000)",
        read: Readers.integer("--bytes", in: 1...1_000_000_000_000))

    private static let benchServe = Command(
        "bench serve", "listen for the other bench commands",
        options: [bind.spec, benchRelay.spec, http3.spec, bbr.spec, Common.relayTrust.spec],
        details: ["Listens with a key of its own, for measurements only, until it is ended."],
        examples: ["mew bench serve --bind 127.0.0.1:0"]
    ) { invocation async throws(CommandFailure) in
        let peer = try await BenchPeer.start(
            on: invocation.context.runtime.loop, listening: invocation[bind] ?? .loopback(port: 0),
            usingBBR: invocation[bbr])
        if let url = invocation[benchRelay] {
            _ = try await BenchLeg.open(
                url, of: peer, BenchCrowd.connector(invocation), overHTTP3: invocation[http3])
        }
        let output = invocation.context.output
        let node = peer.endpoint.node
        for address in await peer.endpoint.localAddresses {
            output.json(["event": "ready", "node_id": .string(node.hex), "addr": .string(address.description)])
            output.line("\(node.z32) \(address)")
        }
        await peer.serve()
        return .ok
    }

    private static let benchHandshakes = Command(
        "bench handshakes", "measure whole handshakes", positionals: [node.required, place.required],
        options: [seconds.spec, inFlight.spec, http3.spec, Common.relayTrust.spec]
    ) { invocation async throws(CommandFailure) in
        let (rate, times) = try await measurements(invocation).handshakes(
            for: .milliseconds(invocation[seconds] ?? 5_000), inFlight: invocation[inFlight] ?? 1)
        report(invocation, ["per_second": .number(rate), "p50_us": .number(times.median)])
        return .ok
    }

    private static let benchEcho = Command(
        "bench echo", "measure round trips of 64 bytes on one stream",
        positionals: [node.required, place.required], options: [count.spec, http3.spec, Common.relayTrust.spec]
    ) { invocation async throws(CommandFailure) in
        let times = try await measurements(invocation).echo(count: invocation[count] ?? 20_000)
        report(invocation, ["p50_us": .number(times.median), "p99_us": .number(times.ninetyNine)])
        return .ok
    }

    private static let benchReceive = Command(
        "bench receive", "measure how fast one stream arrives", positionals: [node.required, place.required],
        options: [bytes.spec, http3.spec, Common.relayTrust.spec]
    ) { invocation async throws(CommandFailure) in
        let byteCount = invocation[bytes] ?? 1_000_000_000
        let time = try await measurements(invocation).receive(UInt64(byteCount))
        report(
            invocation,
            [
                "bytes": .integer(Int64(byteCount)), "seconds": .number(time.milliseconds / 1_000),
                "mb_per_second": .number(Double(byteCount) / 1_000 / time.milliseconds),
            ])
        return .ok
    }

    private static let other = Positional<NodeID>("OTHER", "the node ID of another 'mew bench serve'") {
        text throws(UsageError) in
        do throws(NodeIDTextError) { return try NodeID(text: text) } catch {
            throw UsageError("OTHER must be a node ID: \(error)")
        }
    }

    private static let benchBeside = Command(
        "bench beside", "measure round trips beside a bulk transfer",
        positionals: [node.required, url.required, other.required],
        options: [seconds.spec, http3.spec, Common.relayTrust.spec]
    ) { invocation async throws(CommandFailure) in
        let peer = try await BenchPeer.start(on: invocation.context.runtime.loop, reachingOut: invocation[http3])
        let leg = try await BenchLeg.open(
            invocation.required(url), of: peer, BenchCrowd.connector(invocation), overHTTP3: invocation[http3])
        let (node, other) = (try invocation.required(node), try invocation.required(other))
        let measurements = BenchMeasurements(peer: peer, node: node, route: await leg.route(to: node))
        let time = Duration.milliseconds(invocation[seconds] ?? 5_000)
        let (times, bulk) = try await measurements.echo(for: time, beside: other, by: leg.route(to: other))
        report(
            invocation,
            [
                "count": .integer(Int64(times.count)), "p50_us": .number(times.median),
                "p99_us": .number(times.ninetyNine), "worst_us": .number(times.worst),
                "bulk_mb_per_second": .number(Double(bulk) / 1_000 / time.milliseconds),
                "transport": .string(await leg.leg.status.transport?.rawValue ?? "none"),
            ])
        return .ok
    }

    private static let connections = Option<Int>(
        "connections", "N", "how many connections (default 1000)", read: Readers.integer("--connections", in: 1...1_000)
    )

    private static let benchHold = Command(
        "bench hold", "hold idle connections to a daemon until ended", positionals: [Common.daemon.required],
        options: [connections.spec] + Common.routes
    ) { invocation async throws(CommandFailure) in
        let count = invocation[connections] ?? 1_000
        let held = try await BenchLink.open(count, to: try await BenchLink.Target(invocation))
        let output = invocation.context.output
        output.json(["event": "ready", "connections": .integer(Int64(held.count))])
        output.line("\(held.count) connections are open; end with Ctrl-C.")
        for link in held { await link.untilClosed() }
        throw CommandFailure(.unreachable, "the daemon has closed the connections")
    }

    private static let url = Positional<RelayURL>("URL", "the relay", read: Readers.relayURL("URL"))

    private static let benchCrowd = Command(
        "bench crowd", "hold idle clients on a relay until ended", positionals: [url.required],
        options: [connections.spec, http3.spec, Common.relayTrust.spec],
        details: ["Each has a key of its own and says nothing but what the relay's protocol asks for."]
    ) { invocation async throws(CommandFailure) in
        let loop = invocation.context.runtime.loop
        let crowd = try await BenchCrowd.open(
            invocation[connections] ?? 1_000, on: try invocation.required(url), BenchCrowd.connector(invocation),
            invocation[http3] ? try await BenchPeer.start(on: loop, reachingOut: true).endpoint : nil, loop)
        let output = invocation.context.output
        output.json([
            "event": "ready", "connections": .integer(Int64(crowd.legs.count)),
            "http3": .integer(Int64(await crowd.overHTTP3)),
        ])
        output.line("\(crowd.legs.count) clients are on the relay; end with Ctrl-C.")
        await crowd.untilLost()
        throw CommandFailure(.unreachable, "the relay has lost the clients")
    }

    static let benchPause = Option<Int>(
        "pause-ms", "N", "wait so long after each (default 0)", read: Readers.integer("--pause-ms", in: 0...10_000))

    private static let benchPing = Command(
        "bench ping", "measure round trips of the ping message",
        positionals: [Common.daemon.required], options: [count.spec, benchPause.spec] + Common.routes
    ) { invocation async throws(CommandFailure) in
        let target = try await BenchLink.Target(invocation)
        let link = try await BenchLink.open(1, to: target)
        let pause = Duration.milliseconds(invocation[benchPause] ?? 0)
        let times = try await link[0].ping(invocation[count] ?? 20_000, pause: pause, on: LoopClock(target.loop))
        report(
            invocation,
            [
                "p50_us": .number(times.median), "p99_us": .number(times.ninetyNine),
                "worst_us": .number(times.worst),
            ])
        return .ok
    }

    private static func measurements(_ invocation: Invocation) async throws(CommandFailure) -> BenchMeasurements {
        let runtime = invocation.context.runtime
        let peer = try await BenchPeer.start(on: runtime.loop, reachingOut: invocation[http3])
        let node = try invocation.required(node)
        let route: Route =
            switch try invocation.required(place) {
            case .address(let address): .direct(address)
            case .relay(let url):
                await
                    (try BenchLeg.open(
                        url, of: peer, BenchCrowd.connector(invocation), overHTTP3: invocation[http3])).route(to: node)
            }
        return BenchMeasurements(peer: peer, node: node, route: route)
    }

    static func report(_ invocation: Invocation, _ object: JSONObject) {
        let output = invocation.context.output
        output.json(object)
        output.line(object.entries.map { "\($0.key) \($0.value.text)" }.joined(separator: "  "))
    }
}
