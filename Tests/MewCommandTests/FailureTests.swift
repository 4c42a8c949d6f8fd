import MewClient
import MewIdentity
import MewWire
import Testing

@testable import mew

@Suite("Failures")
struct FailureTests {
    @Test("every code has an exit status of the list, and codes of one meaning share it")
    func exitCodes() {
        let table: [ErrorCode: Int32] = [
            .badInput: 2, .unknownVersion: 2, .unknownSession: 2, .unknownDaemon: 2, .badCwd: 2,
            .windowClosed: 3, .timedOut: 3, .unauthorized: 4, .revoked: 4, .scope: 4,
            .unreachable: 5, .daemonRestarting: 5, .wrongNode: 5,
            .busy: 6, .leaseHeld: 6, .turnOver: 6, .tooLate: 6, .notWhatWasShown: 6, .unknownRequest: 6,
            .opConflict: 6, .opSettled: 6, .opExpired: 6, .notSaved: 6,
            .opIDRequired: 1, .digestMissing: 1, .wrongChannel: 1, .unknownType: 1, .tooLarge: 1, .protocol: 1,
            .portTaken: 1, .directoryLocked: 1, .directoryReadOnly: 1, .internal: 1, .deliveryUnknown: 7,
        ]
        #expect(table.count == ErrorCode.allCases.count)
        for (code, status) in table { #expect(CommandFailure(code, "x").exit.rawValue == status, "\(code)") }
    }

    @Test("a failure is one sentence on stderr, and with --json also an object on stdout")
    func tellsTwice() {
        let failure = CommandFailure(.unreachable, "could not reach desk: no answer", hint: "Try again.")
        let (out, err) = (LineCollector(), LineCollector())
        let exit = Output(isJSON: true, standard: out, errors: err).failure(failure)
        #expect(exit == .unreachable)
        #expect(err.text == "mew: could not reach desk: no answer. Try again.\n")
        #expect(
            out.text
                == "{\"error\":{\"code\":\"unreachable\",\"message\":\"could not reach desk: no answer\",\"hint\":\"Try again.\"}}\n"
        )
        let quiet = LineCollector()
        _ = Output(isJSON: false, standard: quiet, errors: err).failure(failure)
        #expect(quiet.text.isEmpty)
    }

    @Test("every error of the client core has a hint or needs none, and names what was tried")
    func clientErrors() {
        for code in ErrorCode.allCases {
            let failure = CommandFailure(ClientError(code, "because"), doing: "reach desk", daemon: "my desk")
            #expect(failure.message == "could not reach desk: because")
            if let hint = failure.hint { #expect(hint.hasSuffix("."), "\(hint)") }
        }
    }
}

@Suite("Naming a daemon")
struct DaemonSelectionTests {
    private let registry: Registry

    init() throws {
        var registry = Registry()
        for (name, seed) in [("desk", UInt8(1)), ("laptop", 2)] {
            guard let key = SecretKey(seed: [UInt8](repeating: seed, count: 32)) else { continue }
            try registry.add(DaemonRecord(node: key.node, name: name, addedAt: WallTime(milliseconds: 1)))
        }
        self.registry = registry
    }

    private func name(_ text: String) throws -> String { try DaemonSelection(registry).find(text).name }

    @Test("by name in any case, list number, node ID in any alphabet, and the end of its ID")
    func finds() throws {
        let node = try #require(registry.named("laptop")).node
        for text in ["laptop", "LAPTOP", "2", node.z32, node.hex, node.base32, String(node.z32.suffix(4))] {
            #expect(try name(text) == "laptop")
        }
    }

    @Test("a node ID that nobody here has is told as one; one with a slip gets the daemon it is near to")
    func nodeIDs() throws {
        let other = try #require(SecretKey(seed: [UInt8](repeating: 3, count: 32))).node.z32
        let unknown = #expect(throws: CommandFailure.self) { try name(other) }
        #expect(unknown?.message == "no daemon with the node ID \(other) is known here")
        #expect(unknown?.hint == "Run 'mew pair' on its machine and 'mew add' here first.")
        let dialling = #expect(throws: CommandFailure.self) {
            try DaemonSelection(registry).find(other, orDial: false)
        }
        #expect(dialling?.hint?.hasSuffix("or name a relay that knows it with --relay URL.") == true)
        let short = #expect(throws: CommandFailure.self) { try name(String(other.dropLast())) }
        #expect(short?.message.hasSuffix("a node ID has 52 characters (or 64 hex digits); this has 51") == true)
        let known = try #require(registry.named("laptop")).node.z32
        for slip in [String(known.dropLast() + "x"), String(known.dropLast(2)), "0" + known] {
            #expect(#expect(throws: CommandFailure.self) { try name(slip) }?.hint == "Did you mean laptop?")
        }
    }

    @Test("a mistyped name gets the nearest one; without daemons the way to one")
    func suggests() {
        #expect(
            #expect(throws: CommandFailure.self) { try name("labtop") }?.hint == "Did you mean laptop?")
        #expect(#expect(throws: CommandFailure.self) { try name("zzz") }?.hint == "See 'mew ls'.")
        let failure = #expect(throws: CommandFailure.self) { _ = try DaemonSelection(Registry()).find("desk") }
        #expect(failure?.code == .unknownDaemon)
        #expect(failure?.exit == .usage)
    }
}
