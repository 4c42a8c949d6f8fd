import MewBase
import MewClient
import MewLoop
import MewWire

/// One authenticated connection to a real daemon, without the client core on top: hello said, nothing attached.
struct BenchLink: Sendable {
    private let link: any Link
    private let control: any MessageChannel

    /// Whom to connect to, and how: a daemon of the registry.
    struct Target: Sendable {
        let dialer: any Dialer
        let route: DialTarget
        let loop: EventLoop

        init(_ invocation: Invocation) async throws(CommandFailure) {
            let command = try await ClientCommand.open(invocation)
            let target = try await command.daemon(of: invocation)
            dialer = command.environment.dialer
            route = target.record.target(addresses: target.routes.addresses, relays: target.routes.relays)
            loop = invocation.context.runtime.loop
        }
    }

    /// A listener takes no more handshakes at once from one network.
    private static let handshakesAtOnce = 8

    static func open(_ count: Int, to target: Target) async throws(CommandFailure) -> [BenchLink] {
        let share = (count + handshakesAtOnce - 1) / handshakesAtOnce
        let workers = stride(from: 0, to: count, by: share).map { start in
            target.loop.spawn { () async -> Result<[BenchLink], CommandFailure> in
                do throws(CommandFailure) {
                    var links: [BenchLink] = []
                    for _ in start..<min(start + share, count) { links.append(try await open(target)) }
                    return .success(links)
                } catch {
                    return .failure(error)
                }
            }
        }
        var links: [BenchLink] = []
        for worker in workers { links += try await worker.value.get() }
        return links
    }

    private static func open(_ target: Target) async throws(CommandFailure) -> BenchLink {
        do {
            let link = try await target.dialer.dial(target.route)
            let opened = BenchLink(link: link, control: try await link.openChannel())
            let isNative = link.applicationProtocol == .native
            try await opened.send(
                .remoteHello(
                    .init(token: nil, deviceName: "bench", capabilities: isNative ? ["ops", "resume", "desk"] : nil)))
            while true {
                if case .remoteReady = try await opened.receive() { return opened }
            }
        } catch {
            throw CommandFailure(.unreachable, "cannot connect to the daemon: \(error)")
        }
    }

    func untilClosed() async { _ = await link.closed() }

    /// Round trips of `ping` and `pong`, one after the other, with a pause after each.
    func ping(_ count: Int, pause: Duration, on loop: LoopClock) async throws(CommandFailure) -> RoundTrips {
        let clock = ContinuousClock()
        var times: [Duration] = []
        times.reserveCapacity(count)
        do {
            for turn in -BenchMeasurements.warmUp..<count {
                let start = clock.now
                try await send(.ping)
                pong: while true {
                    if case .pong = try await receive() { break pong }
                }
                if turn >= 0 { times.append(start.duration(to: clock.now)) }
                if turn >= 0, pause > .zero { _ = await loop.pause(for: pause) }
            }
        } catch {
            throw CommandFailure(.unreachable, "the daemon has stopped answering: \(error)")
        }
        return RoundTrips(times)
    }

    // MARK: - Sessions

    /// A channel for one session; nothing is said on it yet.
    func openChannel() async throws(CommandFailure) -> BenchChannel {
        do throws(ChannelError) {
            return BenchChannel(try await link.openChannel())
        } catch {
            throw CommandFailure(.unreachable, "the daemon takes no further channel: \(error)")
        }
    }

    /// Returns when the turns of `count` sessions have ended, as everybody is told on control.
    func untilIdle(_ count: Int) async throws(CommandFailure) {
        var left = count
        do {
            while left > 0 {
                if case .sessionActivityChanged(let change) = try await receive(), change.activity == .idle {
                    left -= 1
                }
            }
        } catch {
            throw CommandFailure(.unreachable, "the daemon has stopped telling: \(error)")
        }
    }

    // MARK: - Messages

    private enum LinkFailure: Error { case ended, unreadable }

    private func send(_ message: ClientMessage) async throws {
        guard let bytes = ClientFrame(message).encoded(for: link.applicationProtocol) else {
            throw LinkFailure.unreadable
        }
        try await control.send(bytes)
    }

    /// The next message that this program knows.
    private func receive() async throws -> DaemonMessage {
        while true {
            guard let bytes = try await control.receive() else { throw LinkFailure.ended }
            if case .decoded(let frame) = DaemonFrame.decode(bytes, from: link.applicationProtocol) {
                return frame.message
            }
        }
    }
}
