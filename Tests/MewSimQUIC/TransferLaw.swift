internal import MewBase
internal import MewIdentity
internal import MewLoop
internal import MewQUIC
package import MewSim

/// The law of the simulated network (issue 2): a handshake and three streams of 64 KiB each way arrive whole under up to
/// 5 % loss, reordering, packets of 1280 bytes and 300 ms round trips.
package struct TransferLaw: Sendable {
    package var streams = 3
    package var bytesPerStream = 64 << 10

    package init() {}

    /// One stream of 10 MB each way.
    package static let large: TransferLaw = {
        var law = TransferLaw()
        (law.streams, law.bytesPerStream) = (1, 10_000_000)
        return law
    }()

    /// What came of one seed. Equal for equal seeds, in any process.
    package struct Outcome: Equatable, Sendable {
        /// Why the law was broken; nil when it was kept.
        package let failure: String?
        /// A digest of (time, from, to, size) of every datagram.
        package let trace: UInt64
        package let datagrams: Int
        /// Of virtual time.
        package let elapsed: Duration
    }

    /// What the wires do is the seed's choice as well.
    package static func wire(of seed: UInt64) -> LinkProfile {
        var random = SeededGenerator(seed: SeededGenerator.mix(seed))
        var profile = LinkProfile(
            latency: .milliseconds(Int64(1 + random.below(125))), jitter: .milliseconds(Int64(random.below(26))),
            loss: Double(random.below(51)) / 1_000)
        if random.happens(0.5) { profile.mtu = 1_280 }
        return profile
    }

    /// Runs the world of `seed`, for at most ten minutes of its time.
    package func run(seed: UInt64) -> Outcome {
        withSimWorld(seed: seed) { world in
            let run = TransferRun(self)
            do {
                world.changeLinks { $0 = Self.wire(of: seed) }
                run.serve(try QUICNode(world, "server", key: 1))
                run.dial(from: try QUICNode(world, "client", key: 2, accepts: []))
                try world.run(until: { run.isOver }, limit: .seconds(600))
            } catch {
                run.fail("\(error)")
            }
            return Outcome(
                failure: run.failure, trace: world.trace.hash, datagrams: world.trace.count,
                elapsed: SimWorld.start.duration(to: world.now))
        }
    }
}

/// The two ends of one run and how far they are.
///
/// `@unchecked Sendable`: a simulated world runs on one thread.
private final class TransferRun: @unchecked Sendable {
    private let law: TransferLaw
    private var server: QUICNode?
    private var streamsRead = 0
    private(set) var failure: String?

    init(_ law: TransferLaw) {
        self.law = law
    }

    /// Every stream was read to its end at both ends, or something went wrong.
    var isOver: Bool { failure != nil || streamsRead == 2 * law.streams }

    func fail(_ reason: String) {
        failure = failure ?? reason
    }

    func serve(_ server: QUICNode) {
        self.server = server
        let loop = server.node.loop
        server.acceptAll { connection in
            while let stream = await connection.acceptStream() {
                let number = Int(stream.id / 4)
                self.exchange(stream, salt: number + 100, answerSalt: number, on: loop)
            }
        }
    }

    func dial(from client: QUICNode) {
        guard let server else { return fail("nobody to dial") }
        let (endpoint, target, address) = (client.endpoint, server.secret.node, server.address)
        let loop = client.node.loop
        loop.spawn {
            do {
                let connection = try await endpoint.connect(to: target, addresses: [address], protocols: ["test/1"])
                for salt in 0..<self.law.streams {
                    let stream = try await connection.openStream()
                    self.exchange(stream, salt: salt, answerSalt: salt + 100, on: loop)
                }
            } catch {
                self.fail("the dialler: \(error)")
            }
        }
    }

    private func exchange(_ stream: QUICStream, salt: Int, answerSalt: Int, on loop: SimLoop) {
        loop.spawn {
            do {
                try await Exchange.write(self.law.bytesPerStream, salt: salt, to: stream)
            } catch {
                self.fail("writing to stream \(stream.id): \(error)")
            }
        }
        loop.spawn {
            do {
                let count = try await Exchange.read(stream, salt: answerSalt)
                guard count == self.law.bytesPerStream else {
                    return self.fail("stream \(stream.id) gave \(count.map { "\($0) bytes" } ?? "a wrong byte")")
                }
                self.streamsRead += 1
            } catch {
                self.fail("reading from stream \(stream.id): \(error)")
            }
        }
    }
}
