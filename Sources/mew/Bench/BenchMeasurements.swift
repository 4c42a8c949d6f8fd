import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewWire
import Synchronization

/// Round trips, sorted.
struct RoundTrips: Sendable {
    private let sorted: [Duration]

    init(_ measured: [Duration]) {
        sorted = measured.sorted()
    }

    var count: Int { sorted.count }
    var median: Double { microseconds(at: 0.5) }
    var ninetyNine: Double { microseconds(at: 0.99) }
    var worst: Double { microseconds(at: 1) }

    private func microseconds(at share: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        return sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)].milliseconds * 1_000
    }
}

/// The measurements of `mew bench` against its own listener. Each runs in tasks of the peer's loop.
struct BenchMeasurements: Sendable {
    let peer: BenchPeer
    let node: NodeID
    let route: Route

    /// Before anything is counted: caches, branch predictors and the congestion window are warm then.
    static let warmUp = 200
    static let echoBytes = 64

    /// Whole handshakes for `time`, `inFlight` at once.
    func handshakes(for time: Duration, inFlight: Int) async throws(CommandFailure) -> (perSecond: Double, RoundTrips) {
        let clock = ContinuousClock()
        return try await peer.measure { [node, route, loop = peer.loop] endpoint in
            let start = clock.now
            let workers = (0..<inFlight).map { _ in
                loop.spawn { () async -> Result<[Duration], CommandFailure> in
                    var times: [Duration] = []
                    // At least one each, however slow the machine.
                    repeat {
                        let began = clock.now
                        switch await Self.connect(endpoint, node, route) {
                        case .success(let connection):
                            times.append(began.duration(to: clock.now))
                            await connection.close(code: 0, reason: "")
                        case .failure(let failure): return .failure(failure)
                        }
                    } while start.duration(to: clock.now) < time
                    return .success(times)
                }
            }
            var times: [Duration] = []
            for worker in workers {
                switch await worker.value {
                case .success(let more): times += more
                case .failure(let failure): return .failure(failure)
                }
            }
            let seconds = start.duration(to: clock.now).milliseconds / 1_000
            return .success((Double(times.count) / seconds, RoundTrips(times)))
        }
    }

    /// Round trips of 64 bytes on one stream, one after the other.
    func echo(count: Int) async throws(CommandFailure) -> RoundTrips {
        let clock = ContinuousClock()
        return try await onStream(.echo) { stream in
            var times: [Duration] = []
            times.reserveCapacity(count)
            for turn in -Self.warmUp..<count {
                let time = try await Self.roundTrip(on: stream, clock)
                if turn >= 0 { times.append(time) }
            }
            return RoundTrips(times)
        }
    }

    /// Takes in `byteCount` bytes of one stream.
    func receive(_ byteCount: UInt64) async throws(CommandFailure) -> Duration {
        let clock = ContinuousClock()
        return try await onStream(.send(byteCount)) { stream in
            let start = clock.now
            var received: UInt64 = 0
            while let bytes = try await stream.read() { received += UInt64(bytes.count) }
            guard received == byteCount else { throw BenchError.endedEarly }
            return start.duration(to: clock.now)
        }
    }

    /// Round trips of 64 bytes for `time`, one after the other with a pause between, while `other` sends as fast as it can.
    ///
    /// - Returns: also how many bytes of the other came in that time.
    func echo(
        for time: Duration, beside other: NodeID, by otherRoute: Route
    ) async throws(CommandFailure) -> (RoundTrips, bulk: Int) {
        let clock = ContinuousClock()
        let bulk = Mutex(0)
        return try await peer.measure { [node, route, loop = peer.loop] endpoint in
            await Self.exchange(endpoint, other, otherRoute, .send(.max)) { stream in
                // It ends with the endpoint.
                let reader = loop.spawn {
                    while let bytes = try? await stream.read() { bulk.withLock { $0 += bytes.count } }
                }
                defer { reader.cancel() }
                // Until it is as fast as it gets.
                _ = await LoopClock(loop).pause(for: Self.settling)
                return try await Self.exchange(endpoint, node, route, .echo) { stream in
                    let (began, before) = (clock.now, bulk.withLock { $0 })
                    var times: [Duration] = []
                    while began.duration(to: clock.now) < time {
                        times.append(try await Self.roundTrip(on: stream, clock))
                        _ = await LoopClock(loop).pause(for: Self.betweenEchoes)
                    }
                    return (RoundTrips(times), bulk.withLock { $0 } - before)
                }.get()
            }
        }
    }

    private static let settling: Duration = .seconds(2)
    /// As often as somebody who types fast and sees what he types.
    private static let betweenEchoes: Duration = .milliseconds(20)

    private static func roundTrip(on stream: QUICStream, _ clock: ContinuousClock) async throws -> Duration {
        let start = clock.now
        try await stream.write([UInt8](repeating: 0x6d, count: echoBytes))
        var left = echoBytes
        while left > 0 {
            guard let bytes = try await stream.read() else { throw BenchError.endedEarly }
            left -= bytes.count
        }
        return start.duration(to: clock.now)
    }

    // MARK: - Connections

    private enum BenchError: Error { case endedEarly }

    private func onStream<Value: Sendable>(
        _ request: BenchRequest, _ body: @escaping @Sendable (QUICStream) async throws -> Value
    ) async throws(CommandFailure) -> Value {
        try await peer.measure { [node, route] endpoint in await Self.exchange(endpoint, node, route, request, body) }
    }

    private static func exchange<Value: Sendable>(
        _ endpoint: Endpoint, _ node: NodeID, _ route: Route, _ request: BenchRequest,
        _ body: (QUICStream) async throws -> Value
    ) async -> Result<Value, CommandFailure> {
        switch await connect(endpoint, node, route) {
        case .failure(let failure): return .failure(failure)
        case .success(let connection):
            do {
                let stream = try await connection.openStream()
                try await stream.write(request.bytes)
                return .success(try await body(stream))
            } catch {
                return .failure(CommandFailure(.unreachable, "the measurement broke off: \(error)"))
            }
        }
    }

    private static func connect(
        _ endpoint: Endpoint, _ node: NodeID, _ route: Route
    ) async -> Result<Connection, CommandFailure> {
        do throws(DialFailure) {
            return .success(
                try await endpoint.connect(
                    to: node, routes: [route], protocols: [BenchPeer.applicationProtocol]))
        } catch {
            return .failure(CommandFailure(.unreachable, "cannot reach the bench server: \(error)"))
        }
    }
}
