import MewBase
import MewDaemon
import MewIdentity
import MewWire

extension Command {
    private static let timeout = Option<Int>(
        "timeout", "S", "how long to wait, in seconds (default 120)",
        read: Readers.integer(
            "--timeout",
            in: Int(
                ControlRequest.PairRequest.secondsRange.lowerBound)...Int(
                    ControlRequest.PairRequest.secondsRange.upperBound)))
    private static let scope = Option<String>(
        "scope", "SCOPE", "what the device may do: observe, collaborate or control (default)",
        read: Readers.choice("--scope", Scope.allCases.map(\.rawValue)))
    private static let expect = Option<NodeID>("expect", "NODEID", "admit this node without asking") {
        text throws(UsageError) in
        do throws(NodeIDTextError) {
            return try NodeID(text: text)
        } catch {
            throw UsageError("--expect needs a node ID: \(error)")
        }
    }
    private static let noQR = Flag("no-qr", "print no QR code")

    static let pair = Command(
        "pair", "let a new device in: print a code, wait, and show who knocks",
        options: [timeout.spec, scope.spec, expect.spec, noQR.spec],
        details: [
            "The code pairs one device, once, within the time. Everything that happens to it is shown. A device that knocks "
                + "without the code is let in only when you confirm that both screens show the same six digits.",
            "Without a running daemon this starts one, and goes on serving after the pairing until Ctrl-C.",
            "Exit: 0 paired, 3 the time is over.",
        ]
    ) { invocation async throws(CommandFailure) in
        let request = PairingRequest(
            seconds: invocation[timeout] ?? 120,
            scope: invocation[scope].flatMap(Scope.init(rawValue:)) ?? .control, expected: invocation[expect],
            showsQR: !invocation[noQR])
        if let connection = try ControlConnection.open(invocation.context) {
            return try await PairingScreen(connection, request, invocation.context).run()
        }
        let context = invocation.context
        var options = DaemonOptions()
        options.level = .warning  // the screen belongs to the pairing
        return try await DaemonRun(context, options).run { readiness async throws(CommandFailure) in
            for line in [DaemonWords.forPairing(readiness)] + DaemonWords(readiness).lines { context.output.note(line) }
            let connection = try ControlConnection.openRequired(context)
            let exit = try await PairingScreen(connection, request, context, isServing: true).run()
            context.output.note("Serving on; Ctrl-C ends the daemon.")
            return exit
        }
    }
}
