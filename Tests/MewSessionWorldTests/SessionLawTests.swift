import Glibc
import MewBase
import MewSim
import MewSimSession
import Testing

@Suite("A daemon, three devices, and whatever happens")
struct SessionLawTests {
    /// A seed that breaks a law is shown with the shortest script that still does.
    @Test("nothing is lost, runs twice or is told in two ways", arguments: 0..<12)
    func anything(seed: Int) throws {
        let seed = UInt64(seed)
        guard let short = SessionLaw.shrunk(seed: seed) else { return }
        Issue.record("seed \(seed): \(SessionLaw.run(short, seed: seed).broken): \(short)")
    }

    /// MEW_WORLD=23: what happens in it. Without it, whether that can be told at all.
    @Test("one seed, told in full")
    func oneSeed() {
        let chosen = getenv("MEW_WORLD").flatMap { UInt64(String(cString: $0)) }
        let (seed, isShown) = (chosen ?? 0, chosen != nil)
        let script = SessionScript.random(seed: seed)
        if isShown { print(script) }
        let told = Shared(0)
        let outcome = SessionLaw.run(script, seed: seed) { line in
            told.value += 1
            if isShown { print(line) }
        }
        #expect(told.value > 0)
        #expect(outcome.broken == [])
    }

    @Test("the same seed gives the same world", arguments: [3, 4])
    func determinism(seed: UInt64) {
        let runs = (0..<2).map { _ in SessionLaw.run(seed: seed) }
        #expect(runs[0].digest == runs[1].digest)
        #expect(runs[0].counts == runs[1].counts)
    }

    @Test("a script is shrunk to what its failure needs, the rest leaving its time behind")
    func shrinking() {
        let entries = (0..<9).map {
            SessionScript.Entry(after: .seconds(2), $0 == 6 ? .freezeDesk(.seconds(1)) : .prompt($0 % 3))
        }
        let short = SessionScript(entries).shrunk(tries: 80) { script in
            script.entries.contains { $0.act == .freezeDesk(.seconds(1)) }
        }
        #expect(short.entries == [SessionScript.Entry(after: .seconds(7 * 2), .freezeDesk(.seconds(1)))])
    }
}
