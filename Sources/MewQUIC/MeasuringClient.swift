package import MewBase
package import MewIdentity
internal import MewLoop
package import MewQUICCore

/// The asking half of the benchmarks: `mew bench handshakes`, `echo`, `receive`.
///
/// Run its methods in tasks of the endpoint's loop, or every wait costs a thread hop that is not QUIC's.
package struct MeasuringClient: Sendable {
    private let endpoint: Endpoint
    private let node: NodeID
    private let address: SocketAddress

    package init(_ endpoint: Endpoint, node: NodeID, address: SocketAddress) {
        self.endpoint = endpoint
        self.node = node
        self.address = address
    }

    package enum Failure: Error, Sendable {
        case dial(DialFailure)
        case stream(QUICError)
        /// The server sent something else than it was asked for.
        case wrongAnswer
    }

    package struct Times: Sendable {
        /// In the order they were taken.
        package let samples: [Duration]
        /// From the first start to the last end.
        package let elapsed: Duration

        package var perSecond: Double { Double(samples.count) * 1_000 / max(elapsed.milliseconds, 0.001) }

        /// - Parameter share: 0.5 for the median, 0.99 for the 99th percentile.
        package func quantile(_ share: Double) -> Duration {
            guard !samples.isEmpty else { return .zero }
            let sorted = samples.sorted()
            return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
        }
    }

    private func connect() async throws(Failure) -> Connection {
        do throws(DialFailure) {
            return try await endpoint.connect(
                to: node, addresses: [address], protocols: [Measuring.applicationProtocol])
        } catch {
            throw .dial(error)
        }
    }

    /// Full handshakes, `inFlight` at a time, for `time`. Each connection is closed as soon as it stands.
    package func handshakes(for time: Duration, inFlight: Int) async throws(Failure) -> Times {
        let clock = ContinuousClock()
        let start = clock.now
        let results = await withTaskGroup(of: Result<[Duration], Failure>.self) { group in
            for _ in 0..<inFlight {
                group.addTask {
                    do throws(Failure) {
                        return .success(try await handshakes(until: start.advanced(by: time)))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        var samples: [Duration] = []
        for result in results { samples += try result.get() }
        return Times(samples: samples, elapsed: start.duration(to: clock.now))
    }

    private func handshakes(until end: ContinuousClock.Instant) async throws(Failure) -> [Duration] {
        let clock = ContinuousClock()
        var samples: [Duration] = []
        while clock.now < end {
            let start = clock.now
            let connection = try await connect()
            samples.append(start.duration(to: clock.now))
            await connection.close(code: 0, reason: "")
        }
        return samples
    }

    /// Round trips of 64 bytes on one open stream, after as many as a tenth of `count` that are not counted.
    package func echo(_ count: Int) async throws(Failure) -> Times {
        let connection = try await connect()
        do throws(QUICError) {
            let stream = try await connection.openStream()
            try await stream.write(Measuring.header(Measuring.echo))
            _ = try await echo(count / 10, on: stream)
            let times = try await echo(count, on: stream)
            await connection.close(code: 0, reason: "")
            return times
        } catch {
            throw .stream(error)
        }
    }

    private func echo(_ count: Int, on stream: QUICStream) async throws(QUICError) -> Times {
        let clock = ContinuousClock()
        let message = [UInt8](repeating: 0x6d, count: 64)
        var samples: [Duration] = []
        samples.reserveCapacity(count)
        let begin = clock.now
        for _ in 0..<count {
            let start = clock.now
            try await stream.write(message)
            var got = 0
            while got < message.count, let bytes = try await stream.read() { got += bytes.count }
            samples.append(start.duration(to: clock.now))
        }
        return Times(samples: samples, elapsed: begin.duration(to: clock.now))
    }

    package struct Transfer: Sendable {
        package let bytes: UInt64
        package let elapsed: Duration
        package let statistics: ConnectionStatistics

        package var megabytesPerSecond: Double { Double(bytes) / 1_000 / max(elapsed.milliseconds, 0.001) }
    }

    /// Takes `byteCount` bytes on one stream.
    package func receive(_ byteCount: UInt64) async throws(Failure) -> Transfer {
        let clock = ContinuousClock()
        let connection = try await connect()
        let got: (bytes: UInt64, elapsed: Duration, statistics: ConnectionStatistics)
        do throws(QUICError) {
            let start = clock.now
            let stream = try await connection.openStream()
            try await stream.write(Measuring.header(byteCount))
            await stream.finish()
            var bytes: UInt64 = 0
            while let chunk = try await stream.read() { bytes += UInt64(chunk.count) }
            got = (bytes, start.duration(to: clock.now), try await connection.status.statistics)
            await connection.close(code: 0, reason: "")
        } catch {
            throw .stream(error)
        }
        guard got.bytes == byteCount else { throw .wrongAnswer }
        return Transfer(bytes: got.bytes, elapsed: got.elapsed, statistics: got.statistics)
    }

    /// Opens `count` connections and leaves them idle.
    package func hold(_ count: Int) async throws(Failure) -> [Connection] {
        var held: [Connection] = []
        for _ in 0..<count { held.append(try await connect()) }
        return held
    }
}
