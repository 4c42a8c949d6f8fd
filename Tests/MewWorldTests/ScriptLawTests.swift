import MewBase
import MewSim
import MewSimNode
import Glibc
import Testing

@Suite("Laws for whatever happens")
struct ScriptLawTests {
    /// A seed that breaks a law is shown with the shortest script that still does.
    @Test("a link survives any script that leaves a way", arguments: 0..<12)
    func anything(seed: Int) throws {
        let seed = UInt64(seed)
        let law = ScriptLaw()
        guard let short = law.shrunk(Script.random(seed: seed), seed: seed) else { return }
        Issue.record("seed \(seed): \(law.run(short, seed: seed).broken): \(short)")
    }

    /// 682: a try that a move broke off. 935: what the law counted. 2087: a listener that spent the dialler's connection IDs.
    @Test("scripts that broke a law once keep all of them", arguments: [682, 935, 2_087] as [UInt64])
    func mended(seed: UInt64) {
        #expect(ScriptLaw().run(Script.random(seed: seed), seed: seed).broken == [])
    }

    /// MEW_WORLD=23: the seed's script, what its nodes report, and what breaks. Without it, whether that can be told at all.
    @Test("one seed, told in full")
    func oneSeed() {
        let seed = Self.chosenSeed ?? 0
        let isShown = Self.chosenSeed != nil
        var script = Script.random(seed: seed)
        if isShown { print(script) }
        let told = Shared(0)
        script.plan.log = {
            told.value += 1
            if isShown { print($0) }
        }
        let outcome = ScriptLaw().run(script, seed: seed)
        if isShown {
            print("\(outcome.changes) changes, \(outcome.mishaps) mishaps, recoveries \(outcome.recoveries)")
        }
        #expect(told.value > 0)
        #expect(outcome.broken == [])
    }

    private static let chosenSeed = getenv("MEW_WORLD").flatMap { UInt64(String(cString: $0)) }

    @Test("every random script leaves a way at every time, and a seed gives the same script again", arguments: 0..<200)
    func scripts(seed: Int) {
        let script = Script.random(seed: UInt64(seed))
        #expect(script.alwaysHasRoute)
        #expect(script.description == Script.random(seed: UInt64(seed)).description)
    }

    @Test("a script is shrunk to what its failure needs, the rest leaving its time behind")
    func shrinking() {
        let entries = (0..<9).map { Script.Entry(after: .seconds(40), $0 == 6 ? .narrow(600) : .move(.near)) }
        let script = Script(SimStage.Plan(relays: 2), entries)
        let short = script.shrunk(tries: 40) { $0.entries.contains { $0.mishap == .narrow(600) } }
        #expect(short.entries == [Script.Entry(after: .seconds(7 * 40), .narrow(600))])
    }

    @Test("six probes to one address in less than a second break the law; five, or six in exactly a second, do not")
    func probeCount() {
        func excess(_ times: [Int64]) -> String? {
            var count = ProbeCount(slack: .zero)
            let address = SocketAddress(ipv4: 0x0a00_0001, port: 4_000)
            for time in times {
                count.sent(.question, to: address, at: SimWorld.start.advanced(by: .milliseconds(time)))
            }
            return count.excess(now: SimWorld.start.advanced(by: .seconds(10)))
        }
        #expect(excess([0, 1, 2, 3, 4]) == nil)
        #expect(excess([0, 200, 400, 600, 800, 1_000]) == nil)
        #expect(excess([0, 200, 400, 600, 800, 999]) != nil)
    }

    @Test("a script without a way is recognized")
    func routes() {
        let cut = Script.Entry(after: .seconds(1), .cut(toFar: true, toNear: true))
        let fails = Script.Entry(after: .seconds(1), .fail(relay: 0, .dies))
        #expect(Script(SimStage.Plan(), [cut]).alwaysHasRoute)
        #expect(Script(SimStage.Plan(), [fails]).alwaysHasRoute)
        #expect(!Script(SimStage.Plan(), [fails, cut]).alwaysHasRoute)
        #expect(Script(SimStage.Plan(relays: 2), [fails, cut]).alwaysHasRoute)
        let back = Script.Entry(after: .seconds(1), .recover(relay: 0))
        #expect(!Script(SimStage.Plan(), [fails, back, cut]).alwaysHasRoute)
        let late = Script.Entry(after: .seconds(30), .cut(toFar: true, toNear: true))
        #expect(Script(SimStage.Plan(), [fails, back, late]).alwaysHasRoute)
    }
}
