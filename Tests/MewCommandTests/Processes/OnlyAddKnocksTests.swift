import Testing

@testable import mew

// Topology: a desk with a daemon whose pairing window is open, and a laptop that it does not know; real processes on loopback.
// Law: nobody is asked about a device unless somebody at the device wants that.

@Suite("Who asks to be let in, with real processes", .timeLimit(.minutes(2)))
struct OnlyAddKnocksTests {
    @Test("any command but mew add ends at once where it is not known, and the open window shows nothing of it")
    func otherCommands() async throws {
        let (daemon, laptop) = (try await RealDaemon(), RealMachine())
        let window = try await PairingWindowProcess(daemon.machine)
        for word in ["ping", "status", "sessions"] {
            let result = try await laptop.run(word, daemon.node, "--addr", daemon.address)
            #expect(result.exit == 4, "\(word): \(result.err)")
            let sentence = "it does not know this device. Run 'mew pair' there, then 'mew add' here."
            #expect(result.err.contains(sentence), "\(word): \(result.err)")
        }
        let added = try await laptop.run("add", window.payload)
        #expect(added.exit == 0, "\(added.err)")
        #expect(await window.process.exit == 0)
        let shown = window.process.out.text
        #expect(!shown.contains("knock") && !shown.contains("turned_away"), "\(shown)")
        await daemon.stop()
    }
}
