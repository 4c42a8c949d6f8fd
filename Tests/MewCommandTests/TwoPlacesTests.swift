import MewBase
import MewTestSupport
import MewWire
import Testing

@testable import mew

@Suite("One identity in two places")
struct TwoPlacesTests {
    @Test("a command that reaches such a daemon works, and warns with the remedy", arguments: [true, false])
    func warning(isElsewhere: Bool) async throws {
        let stage = CommandStage()
        try await stage.add()
        let result = try await stage.run("sessions", "desk") { link in
            try await link.welcome()
            try await link.control.send(
                .reach(.init(counter: 1, relays: [], addresses: [], isElsewhere: isElsewhere ? true : nil)))
            try await link.list([])
            _ = await link.link.closed()
        }
        #expect(result.exit == .ok, "\(result.err.text)")
        #expect(result.err.text.contains("identity of desk is in use in two places") == isElsewhere)
        #expect(result.err.text.contains("--home DIR") == isElsewhere)
    }
}
