import MewDaemon
import MewIdentity
import Testing

@testable import mew

@Suite("What is said of a damaged database")
struct LossWordsTests {
    private static let lost = ControlLoss(
        session: "sess_1", title: "Fix it", isReadable: true, messages: 0, events: 2, requests: 0)

    private func lines(_ losses: [ControlLoss], gone: Int) throws -> [String] {
        let node = try #require(SecretKey(seed: [UInt8](repeating: 3, count: 32))).node
        return Command.lossLines(
            ControlStatus(
                node: node, name: "desk", version: "1", upMs: 1, addresses: [], relays: [], links: [], sessions: 1,
                runningSessions: 0, pairedDevices: 1, windowSecondsLeft: nil, isSaving: true, notSavingReason: nil,
                losses: losses, sessionsGone: gone))
    }

    @Test("mew status names what sessions lost, and counts those that are gone with their names")
    func status() throws {
        #expect(try lines([], gone: 0).isEmpty)
        let named = "lost with the damaged database: \"Fix it\" (sess_1): 2 events"
        #expect(try lines([Self.lost], gone: 0) == [named])
        #expect(
            try lines([Self.lost], gone: 2) == [
                named, "lost with the damaged database: 2 whole sessions, and their names as well",
            ])
        #expect(
            try lines([], gone: 1) == ["lost with the damaged database: 1 whole session, and its name as well"])
    }
}
