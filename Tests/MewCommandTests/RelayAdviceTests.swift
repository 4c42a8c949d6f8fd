import MewWire
import Testing

@testable import mew

@Suite("What to do about a relay")
struct RelayAdviceTests {
    @Test("each failure has a hint of its own, one whole sentence")
    func sentences() {
        let all = DialError.RelayFailure.allCases.map(\.hint)
        #expect(Set(all).count == all.count)
        #expect(all.allSatisfy { $0.first?.isUppercase == true && $0.last == "." })
    }

    @Test("who is not admitted is told to ask for it, who finds a relay full to come later, and nobody else is")
    func fits() {
        for failure in DialError.RelayFailure.allCases {
            #expect(failure.hint.contains("let you in") == (failure == .notAdmitted))
            #expect(failure.hint.contains("later") == (failure == .full))
        }
    }
}
