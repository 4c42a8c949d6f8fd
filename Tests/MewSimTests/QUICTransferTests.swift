import Glibc
import MewBase
import MewIdentity
import MewLoop
import MewQUIC
import MewQUICCore
import MewSim
import Testing

/// The law of the simulated network (issue 2): a handshake and three streams of 64 KiB each way under up to 5 % loss,
/// reordering, packets of 1280 bytes and 300 ms round trips.
private enum TransferLaw {
    struct Outcome: Equatable {
        let read: [Int?]
        let trace: UInt64
        let packets: Int
    }

    static func run(seed: UInt64, streams: Int = 3, bytes: Int = 64 << 10) throws -> Outcome {
        try withSimWorld(seed: seed) { world in
            let random = SeededEntropy(seed: seed)
            world.changeLinks {
                $0.latency = .milliseconds(Int64(1 + random.uint64() % 125))
                $0.jitter = .milliseconds(Int64(random.uint64() % 25))
                $0.loss = Double(random.uint64() % 51) / 1_000
                if random.uint64() % 2 == 0 { $0.mtu = 1_280 }
            }
            let server = try QUICNode(world, "server", key: 1)
            let client = try QUICNode(world, "client", key: 2, accepts: [])
            let read = Shared<[Int?]>([])
            serve(server, bytes: bytes, into: read)
            let (endpoint, target, address, loop) = (
                client.endpoint!, server.secret.node, server.address, client.node.loop
            )
            loop.spawn {
                guard
                    let connection = try? await endpoint.connect(
                        to: target, addresses: [address], protocols: ["test/1"])
                else { return read.value.append(nil) }
                for salt in 0..<streams {
                    guard let stream = try? await connection.openStream() else { return read.value.append(nil) }
                    exchange(stream, salt: salt, answerSalt: salt + 100, bytes: bytes, on: loop, into: read)
                }
            }
            try world.run(until: { read.value.count == 2 * streams || read.value.contains(nil) }, limit: .seconds(600))
            return Outcome(read: read.value, trace: world.trace.hash, packets: world.trace.count)
        }
    }

    private static func serve(_ server: QUICNode, bytes: Int, into read: Shared<[Int?]>) {
        let loop = server.node.loop
        server.acceptAll { connection in
            while let stream = await connection.acceptStream() {
                let number = Int(stream.id / 4)
                exchange(stream, salt: number + 100, answerSalt: number, bytes: bytes, on: loop, into: read)
            }
        }
    }

    private static func exchange(
        _ stream: QUICStream, salt: Int, answerSalt: Int, bytes: Int, on loop: SimLoop, into read: Shared<[Int?]>
    ) {
        loop.spawn { try? await Exchange.write(bytes, salt: salt, to: stream) }
        loop.spawn {
            let count = try? await Exchange.read(stream, salt: answerSalt)
            read.value.append(count ?? nil)
        }
    }
}

@Suite("Streams on the simulated network")
struct QUICTransferTests {
    /// Set MEW_SEEDS to run more: 10,000 is what the issue asks for (about a minute in a release build on two cores).
    private static let seeds = getenv("MEW_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 100

    /// One part for each core of a small machine: a world runs on one thread.
    private static let parts: UInt64 = 2

    @Test(
        "a handshake and three streams of 64 KiB each way arrive whole, whatever the wire does", arguments: 0..<parts)
    func arriveWhole(part: UInt64) throws {
        for seed in stride(from: part, to: Self.seeds, by: Int(Self.parts)) {
            let outcome = try TransferLaw.run(seed: seed)
            try #require(outcome.read == Array(repeating: 64 << 10, count: 6), "seed \(seed)")
        }
    }

    @Test("10 MB arrive whole")
    func tenMegabytes() throws {
        let runs: UInt64 = Self.seeds >= 10_000 ? 10 : 2
        for seed in 0..<runs {
            let outcome = try TransferLaw.run(seed: seed, streams: 1, bytes: 10_000_000)
            #expect(outcome.read == [10_000_000, 10_000_000], "seed \(seed)")
        }
    }

    @Test("the same seed gives the same packets at the same times")
    func sameSeed() throws {
        for seed in UInt64(0)..<10 {
            let (first, second) = (try TransferLaw.run(seed: seed), try TransferLaw.run(seed: seed))
            #expect(first == second, "seed \(seed)")
        }
        #expect(try TransferLaw.run(seed: 0).trace != TransferLaw.run(seed: 1).trace)
    }

    private static func digest() throws -> UInt64 {
        try (UInt64(20)..<30).reduce(0) { SeededGenerator.mix($0 ^ (try TransferLaw.run(seed: $1)).trace) }
    }

    @Test("another process sees the same packets")
    func otherProcess() async throws {
        let here = "\(try Self.digest())"
        let child = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            print("digest=\(try Self.digest())")
        }
        let output = String(decoding: child?.standardOutputContent ?? [], as: UTF8.self)
        #expect(output.contains("digest=\(here)\n"))
    }
}
