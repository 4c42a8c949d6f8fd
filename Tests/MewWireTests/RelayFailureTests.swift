import MewWire
import Testing

@Suite("What is wrong with a relay")
struct RelayFailureTests {
    @Test("what can be mended from here comes first, what only time mends last")
    func order() {
        #expect(DialError.RelayFailure.allCases.first == .notAdmitted)
        #expect(DialError.RelayFailure.allCases.last == .noNetwork)
    }
}
