import MewWire
import Testing

@Suite("What is wrong with a relay")
struct RelayFailureTests {
    @Test("each has advice of its own, half a sentence that others go on from")
    func advice() {
        let all = DialError.RelayFailure.allCases.map(\.advice)
        #expect(Set(all).count == all.count)
        #expect(all.allSatisfy { $0.first?.isLowercase == true && $0.last?.isLetter == true })
    }

    @Test("who is not admitted is told to ask for it, who finds a relay full to come later, and nobody else is")
    func fits() {
        for failure in DialError.RelayFailure.allCases {
            #expect(failure.advice.contains("let you in") == (failure == .notAdmitted))
            #expect(failure.advice.contains("later") == (failure == .full))
        }
        #expect(DialError.RelayFailure.allCases.first == .notAdmitted, "what can be mended from here")
        #expect(DialError.RelayFailure.allCases.last == .outOfReach)
    }
}
