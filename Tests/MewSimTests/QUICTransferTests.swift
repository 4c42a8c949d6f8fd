import MewSim
import MewSimQUIC
import Testing

@Suite("Streams on the simulated network")
struct QUICTransferTests {
    /// For every save of a file; `simulated-seeds` (Scripts/test) runs ten thousand.
    private static let seeds: UInt64 = 100

    /// One part for each core of a small machine: a world runs on one thread.
    private static let parts: UInt64 = 2

    @Test(
        "a handshake and three streams of 64 KiB each way arrive whole, whatever the wire does", arguments: 0..<parts)
    func arriveWhole(part: UInt64) {
        for seed in stride(from: part, to: Self.seeds, by: Int(Self.parts)) {
            #expect(TransferLaw().run(seed: seed).failure == nil, "seed \(seed)")
        }
    }

    @Test("10 MB arrive whole")
    func tenMegabytes() {
        for seed in UInt64(0)..<2 { #expect(TransferLaw.large.run(seed: seed).failure == nil, "seed \(seed)") }
    }

    @Test("the same seed gives the same packets at the same times")
    func sameSeed() {
        for seed in UInt64(0)..<10 {
            #expect(TransferLaw().run(seed: seed) == TransferLaw().run(seed: seed), "seed \(seed)")
        }
        #expect(TransferLaw().run(seed: 0).trace != TransferLaw().run(seed: 1).trace)
    }

    private static func digest() -> UInt64 {
        (UInt64(20)..<30).reduce(0) { SeededGenerator.mix($0 ^ TransferLaw().run(seed: $1).trace) }
    }

    @Test("another process sees the same packets")
    func otherProcess() async {
        let child = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            print("digest=\(Self.digest())")
        }
        let output = String(decoding: child?.standardOutputContent ?? [], as: UTF8.self)
        #expect(output.contains("digest=\(Self.digest())\n"))
    }
}
