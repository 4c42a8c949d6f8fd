import MewTestSupport
import MewWire
import Testing

@testable import mew

// Topology: a desk with a long session and a laptop, real processes on loopback. Law (issue 4): the first screen is small enough for a
// line of 256 kbit/s, whatever the session holds. How long it takes on such a line is a row of Scripts/bench.

@Suite("The first screen of a long session", .timeLimit(.minutes(5)))
struct FirstScreenTests {
    /// DESIGN §8.
    private static let mostBytes = 64 << 10
    /// Of 256 kbit/s.
    private static let lineBytesPerSecond = 32_000
    /// Of the framing, for each message: a few bytes.
    private static let frameBytes = 16

    @Test("everything from session_ready to caught_up is 64 KiB, also of a session of 10,000 events and 25 MB")
    func size() async throws {
        let machine = RealMachine()
        let built = try await machine.run("bench", "big-session", "--events", "10000", "--bytes", "25000000", "--json")
        let session = try #require(built.objects.last?["session_id"]?.asString, "\(built.err)")
        #expect(built.objects.last?["events"]?.asInteger.map { $0 >= 10_000 } == true)
        let (daemon, laptop) = (try await RealDaemon(machine), RealMachine())
        try await daemon.introduce(laptop)
        let screen = try await laptop.run("bench", "attach", "desk", session, "--count", "3", "--json")
        let bytes = Int(try #require(screen.objects.last?["bytes"]?.asInteger, "\(screen.err)"))
        let frames = Int(try #require(screen.objects.last?["frames"]?.asInteger))
        #expect(bytes <= Self.mostBytes)
        #expect(bytes > Self.mostBytes / 2, "it is a screen")
        let onTheLine = bytes + Self.frameBytes * frames
        #expect(onTheLine < Self.lineBytesPerSecond * 5 / 2, "three seconds, less what QUIC and the way take")
        await daemon.stop()
    }
}
