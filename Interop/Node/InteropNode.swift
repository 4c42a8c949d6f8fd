import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewRelay
import MewWire

/// Our half of the connection-level interop scenarios (Interop/README.md): a node and nothing above it.
///
///     interop-node listen [--seed N] [--bind IP:PORT] [--refuse] [--relay URL]…
///     interop-node dial NODE-ID IP:PORT
///     interop-node hold NODE-ID [--relay URL]… [--addr IP:PORT]… --bytes N --ways relay,direct,…
///     interop-node sink RELAY SECONDS
///     interop-node source RELAY SECONDS NODE-ID
///
/// One JSON object per line on stdout. Exits 0 when the scenario went as planned, 1 otherwise, 2 on bad arguments.
@main
struct InteropNode {
    static func main() async throws {
        var arguments = Arguments(Array(CommandLine.arguments.dropFirst()))
        let role = arguments.next()
        let loop = try EventLoop(name: "interop-node")
        switch role {
        case "listen":
            let options = arguments.listenOptions()
            await loop.spawn { await listen(options, on: loop) }.value
        case "dial":
            guard let node = arguments.next().flatMap({ try? NodeID(text: $0) }),
                let address = arguments.next().flatMap({ SocketAddress($0) })
            else { stop(2) }
            let target = DialTarget(node: node, addresses: [address])
            let passed = await loop.spawn { await dial(target, on: loop) }.value
            stop(passed ? 0 : 1)
        case "hold":
            guard let node = arguments.next().flatMap({ try? NodeID(text: $0) }) else { stop(2) }
            let options = arguments.holdOptions()
            let passed = await loop.spawn { await hold(node, options, on: loop) }.value
            stop(passed ? 0 : 1)
        case "sink":
            let flooding = arguments.flooding(on: loop)
            let passed = await loop.spawn { await flooding.sink() }.value
            stop(passed ? 0 : 1)
        case "source":
            let flooding = arguments.flooding(on: loop)
            guard let node = arguments.next().flatMap({ try? NodeID(text: $0) }) else { stop(2) }
            let passed = await loop.spawn { await flooding.source(to: node) }.value
            stop(passed ? 0 : 1)
        case .some, nil:
            stop(2)
        }
    }

    static func start(_ options: ListenOptions, on loop: EventLoop) async -> Node {
        let secret = options.seed.flatMap { SecretKey(seed: [UInt8](repeating: $0, count: 32)) }
        var configuration = Node.Configuration(
            secret: secret ?? SecretKey.generate(entropy: SystemEntropy()), addresses: [options.bind])
        configuration.relays = options.relays
        do {
            return try await Node.start(
                configuration, network: KernelNetwork(), relays: NetworkRelayConnector(on: loop), loop: loop,
                entropy: SystemEntropy())
        } catch {
            report(["event": "failed", "reason": .string("\(error)")])
            stop(1)
        }
    }

    // MARK: Listening

    /// Serves links one after the other until the process is ended.
    static func listen(_ options: ListenOptions, on loop: EventLoop) async {
        let node = await start(options, on: loop)
        // A node tells when it can be reached elsewhere, not when a leg stands. Whoever runs us sets the time for all of it.
        while await node.homeRelays().contains(where: { $0.role != .spare && $0.status?.isConnected != true }) {
            guard await LoopClock(loop).pause(for: .milliseconds(20)) == .over else { return }
        }
        report([
            "event": "ready", "node_id": .string(node.node.hex), "address": .string(node.addresses[0].description),
        ])
        while let link = await node.acceptLink() {
            report([
                "event": "link", "peer": .string(link.peer.hex), "alpn": .string(link.applicationProtocol.rawValue),
            ])
            loop.spawn { options.refuses ? await refuse(link) : await echo(link) }
        }
    }

    /// What a daemon does to a peer that it does not know while no pairing window is open.
    static func refuse(_ link: any IncomingLink) async {
        await link.close(code: .unauthorized, reason: "unauthorized")
    }

    static func echo(_ link: any IncomingLink) async {
        await link.authorize(charging: ByteBudget(maxBytes: 64 << 20))
        if let channel = await link.acceptChannel() {
            var count: Int64 = 0
            do throws(ChannelError) {
                while let message = try await channel.receive() {
                    try await channel.send(message)
                    count += 1
                }
                await channel.finish()
                report(["event": "ended", "messages": .integer(count)])
            } catch {
                report(["event": "broken", "messages": .integer(count), "reason": .string("\(error)")])
            }
        }
        if let closure = await link.closed() { report(["event": "closed", "how": .string("\(closure)")]) }
    }

    // MARK: Dialling

    /// Text of each frame length form, and one that takes many packets.
    static let sizes = [1, 125, 126, 65_535, 65_536, 1_000_000]

    static func dial(_ target: DialTarget, on loop: EventLoop) async -> Bool {
        let node = await start(ListenOptions(), on: loop)
        let link: any Link
        do {
            link = try await node.dial(target)
        } catch {
            report(["event": "dial_failed", "reason": .string("\(error)")])
            return false
        }
        report(["event": "link", "alpn": .string(link.applicationProtocol.rawValue)])
        let passed = await exchange(over: link)
        await link.close(code: .done, reason: "done")
        await node.stop()
        return passed
    }

    static func hold(_ peer: NodeID, _ options: HoldOptions, on loop: EventLoop) async -> Bool {
        let node = await start(ListenOptions(bind: .anyIPv4), on: loop)
        let link: any Link
        do {
            link = try await node.dial(DialTarget(node: peer, addresses: options.addresses, relays: options.relays))
        } catch {
            report(["event": "dial_failed", "reason": .string("\(error)")])
            return false
        }
        let passed = await Holding(link: link, loop: loop, options: options).run()
        await link.close(code: .done, reason: "done")
        await node.stop()
        return passed
    }

    static func exchange(over link: any Link) async -> Bool {
        do throws(ChannelError) {
            let channel = try await link.openChannel()
            for size in sizes {
                let message = (0..<size).map { UInt8(0x20 + $0 % 90) }
                try await channel.send(message)
                guard try await channel.receive() == message else {
                    report(["event": "wrong_echo", "size": .integer(Int64(size))])
                    return false
                }
            }
            await channel.finish()
            guard try await channel.receive() == nil else {
                report(["event": "no_end"])
                return false
            }
        } catch {
            report(["event": "broken", "reason": .string("\(error)")])
            return false
        }
        report(["event": "echoed"])
        return true
    }
}
