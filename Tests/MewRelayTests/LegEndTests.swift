import Glibc
import MewBase
import MewLoop
import MewWire
import Testing

@testable import MewRelay

@Suite("How a connection of a leg ended, for people")
struct LegEndTests {
    private static let ends: [(LegEnd, DialError.RelayFailure, advice: String?)] = [
        (.stream(.tls(.certificate("x"))), .notBelieved, "authority of its certificate"),
        (.stream(.tls(.notSpoken)), .otherScheme, "try http://"),
        (.stream(.tls(.broken("the connection ended during the handshake"))), .outOfReach, "the relay runs"),
        (.stream(.tls(.alert("x"))), .outOfReach, "the relay runs"),
        (.stream(.tls(.library("x"))), .outOfReach, "the relay runs"),
        (.stream(.tls(.identity("x", hint: "y"))), .outOfReach, "the relay runs"),
        (.stream(.lookup(.init(.noAddress, host: "a.test", reason: "x"))), .noSuchName, "check the name"),
        (.stream(.lookup(.init(.noAnswer, host: "a.test", reason: "x"))), .outOfReach, "the relay runs"),
        (.stream(.system(.init(errno: ENETUNREACH, doing: "x"))), .noNetwork, "has no network"),
        (.stream(.system(.init(errno: ECONNREFUSED, doing: "x"))), .outOfReach, "the relay runs"),
        (.stream(.closed), .outOfReach, "the relay runs"),
        (.stream(.timedOut), .outOfReach, "the relay runs"),
        (.refused("x"), .noRelay, "the key behind its #"),
        (.violation("x"), .noRelay, "the key behind its #"),
        (.crowded(.relay), .full, "in 3 s"),
        (.denied("x"), .notAdmitted, "check the token"),
        (.wantsWeakProof, .namedByOthers, "name it with --relay"),
        (.silent, .outOfReach, "the relay runs"),
        (.ended, .outOfReach, nil),
        (.networkChanged, .outOfReach, nil),
    ]

    @Test("each end is one kind of failure, and has advice that fits", arguments: ends.indices)
    func table(index: Int) {
        let (end, failure, advice) = Self.ends[index]
        #expect(end.failure == failure)
        let given = end.advice(again: .milliseconds(2_001))
        #expect((given == nil) == (advice == nil))
        if let advice { #expect(given?.contains(advice) == true, "\(given ?? "")") }
        #expect(!end.words.isEmpty && end.words.last != ".")
    }
}
