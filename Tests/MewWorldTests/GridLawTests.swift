import MewBase
import MewSimNode
import MewWire
import Testing

@Suite("Laws of links between any two networks")
struct GridLawTests {
    @Test(
        "the first byte comes within 2 s, and the link is direct within 10 s, or its words name the rule that forbids it",
        arguments: GridCell.all)
    func cell(cell: GridCell) {
        let outcome = GridLaw().run(cell, seed: UInt64(GridCell.all.firstIndex(of: cell) ?? 0))
        #expect(outcome.broken == [])
        #expect(outcome.firstByte.map { $0 <= GridLaw.firstByte } == true)
    }

    @Test("the rules of the grid are those of the issue")
    func rules() {
        let ruled = GridCell.all.filter { $0.rule == .portPerDestination }
        #expect(ruled.count == 5)
        #expect(ruled.allSatisfy { $0.families == .ipv4 })
        #expect(GridCell.all.filter { $0.rule == .udpBlockedHere || $0.rule == .udpBlockedThere }.count == 3 * 11)
        #expect(GridCell.all.count == 3 * 36 + 4)
    }
}
