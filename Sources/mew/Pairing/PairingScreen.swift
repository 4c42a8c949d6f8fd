import MewBase
import MewClient
import MewDaemon
import MewIdentity
import MewLoop
import MewWire

/// What a pairing window is opened with.
struct PairingRequest: Sendable {
    let seconds: Int
    let scope: Scope
    let expected: NodeID?
    let showsQR: Bool
}

/// Opens a window at the daemon of this machine and shows everything that happens to it, until somebody is in or the time is
/// over (DESIGN §11).
struct PairingScreen: Sendable {
    private let connection: ControlConnection
    private let request: PairingRequest
    private let context: CommandContext
    /// The daemon is in this very process, and what a signal does is its business.
    private let isServing: Bool
    private var output: Output { context.output }

    init(
        _ connection: ControlConnection, _ request: PairingRequest, _ context: CommandContext, isServing: Bool = false
    ) {
        (self.connection, self.request, self.context) = (connection, request, context)
        self.isServing = isServing
    }

    private enum Input: Sendable {
        case reply(Result<ControlReply?, CommandFailure>)
        case line(String)
        case signal
    }

    private var canConfirm: Bool { context.terminal.canAsk && !output.isJSON }

    func run() async throws(CommandFailure) -> ExitCode {
        let token = PairingToken(entropy: SystemEntropy())
        let open = ControlRequest.PairRequest(
            scope: request.scope, codeDigest: token.digest, expected: request.expected, canConfirm: canConfirm,
            seconds: Int64(request.seconds))
        guard case .window(let window) = try await connection.ask(.pair(open)) else {
            throw CommandFailure(.protocol, "the daemon on this machine answered something else")
        }
        show(window, token)
        let exit = try await follow()
        await connection.close()
        return exit
    }

    private func show(_ window: ControlWindow, _ token: PairingToken) {
        let payload = PairingPayload(
            node: window.node, name: window.name, token: token, relays: window.relays,
            addresses: window.addresses.compactMap { SocketAddress($0) })
        output.json([
            "event": "window", "node_id": .string(window.node.z32), "payload": .string(payload.text),
            "expires_in_s": .integer(window.secondsLeft), "hex": .string(window.node.hex),
        ])
        guard !output.isJSON else { return }
        showCode(payload.link)
        output.line("On the other machine, within \(window.secondsLeft) s:")
        output.line("")
        output.line("  \(payload.command)")
        output.line("")
        for line in PairingWords.tokens(window) { output.line(line) }
        output.line("Node ID  \(window.node.z32)")
        output.line("")
        output.line("The code lets one device in, with scope \(request.scope.rawValue). Keep it to yourself. Waiting.")
    }

    /// A terminal too small for the code gets the text only: half a code is worse than none.
    private func showCode(_ text: String) {
        guard request.showsQR, context.terminal.isScreen, let code = QRCode(text),
            code.columns <= context.terminal.columns, code.rows <= context.terminal.rows
        else { return }
        for line in code.lines() { output.line(line) }
        output.line("")
    }

    // MARK: - What happens

    private func follow() async throws(CommandFailure) -> ExitCode {
        let inputs = Feed<Input>(capacity: 64)
        let result = await withTaskGroup(of: Result<ExitCode, CommandFailure>?.self) { group in
            group.addTask {
                await readReplies(into: inputs)
                return nil
            }
            if canConfirm {
                group.addTask {
                    await readLines(into: inputs)
                    return nil
                }
            }
            group.addTask {
                do throws(CommandFailure) {
                    return .success(try await react(to: inputs))
                } catch {
                    return .failure(error)
                }
            }
            if !isServing { context.runtime.signals.listen { _ in inputs.offerNow(.signal) } }
            var result: Result<ExitCode, CommandFailure>?
            while result == nil, let next = await group.next() { result = next }
            if !isServing { context.runtime.signals.listen(nil) }
            inputs.finish()
            group.cancelAll()
            return result
        }
        guard let result else { throw CommandFailure(.internal, "pairing ended without a result") }
        return try result.get()
    }

    private func readReplies(into inputs: Feed<Input>) async {
        while true {
            let result: Result<ControlReply?, CommandFailure>
            do throws(CommandFailure) {
                result = .success(try await connection.receive())
            } catch {
                result = .failure(error)
            }
            guard await inputs.send(.reply(result)), case .success = result else { return }
        }
    }

    private func readLines(into inputs: Feed<Input>) async {
        while let line = try? await context.runtime.input.readLine(maxBytes: 4_096) {
            guard await inputs.send(.line(String(decoding: line, as: UTF8.self))) else { return }
        }
    }

    private func react(to inputs: Feed<Input>) async throws(CommandFailure) -> ExitCode {
        var knocks = KnockQueue()
        for await input in inputs {
            switch input {
            case .signal:
                throw CommandFailure(
                    .timedOut, "the pairing window was closed; nobody was let in", hint: "Run 'mew pair' again.")
            case .line(let line): try await typed(line, &knocks)
            case .reply(let result):
                guard let reply = try result.get() else { continue }
                if let exit = try await react(to: reply, &knocks) { return exit }
            }
        }
        throw CommandFailure(.unreachable, "the daemon on this machine went away")
    }

    private func typed(_ line: String, _ knocks: inout KnockQueue) async throws(CommandFailure) {
        switch knocks.typed(now: ContinuousClock().now) {
        case .nothingAsked: return
        case .tooEarly:
            output.line("  (typed for the one that left: not taken)")
            if let entry = knocks.shownEntry { putQuestion(entry) }
        case .answers(let knock):
            let isSame = ["y", "yes"].contains(line.trimmed.lowercased())
            try await connection.send(isSame ? .confirm(knock) : .refuse(knock))
            ask(&knocks)
        }
    }

    private func react(to reply: ControlReply, _ knocks: inout KnockQueue) async throws(CommandFailure) -> ExitCode? {
        switch reply {
        case .refused(let error): throw CommandFailure(error)
        case .event(let event):
            output.json(Self.row(event))
            switch event {
            case .knock(let number, let node, let name, let digits):
                knocks.add(KnockQueue.Entry(number: number, node: node, name: name, digits: digits))
                ask(&knocks)
            case .knockLeft(let number):
                knocks.remove(number, now: ContinuousClock().now)
                output.line("  (it left)")
                ask(&knocks)
            case .paired(let node, let name, let scope, _):
                output.line(
                    "Pairing complete: \(name?.printableName ?? "a device") (\(node.z32.prefix(8))…) may \(scope.rawValue)."
                )
                output.line("Not yours? mew peers revoke \(node.z32)")
                return .ok
            case .expired:
                if knocks.shownEntry != nil { output.errors.write("\n") }  // below a question that nobody answered
                throw CommandFailure(
                    .timedOut, "the time is over and the code is dead; nobody was let in",
                    hint: "Run 'mew pair' again.")
            case .closed:
                throw CommandFailure(.timedOut, "the daemon closed the pairing window", hint: "Run 'mew pair' again.")
            default:
                if let sentence = PairingWords(event).sentence { output.line(sentence) }
            }
        case .done, .peers, .revoked, .status, .net, .window: break
        }
        return nil
    }

    /// Shows the knock whose turn it is and asks; without a terminal it is only told.
    private func ask(_ knocks: inout KnockQueue) {
        guard let entry = knocks.nextToShow(now: ContinuousClock().now) else { return }
        let name = entry.name?.printableName ?? "a device without a name"
        output.line("")
        output.line("\(name) knocks without the code.")
        output.line("  node ID  \(entry.node.z32)")
        if let digits = entry.digits {
            output.line("  digits   \(digits.prefix(3)) \(digits.suffix(3))")
        } else {
            output.line("  It is too old to show digits: compare the whole node ID, or refuse.")
        }
        if canConfirm {
            putQuestion(entry)
        } else {
            output.line("  Nobody can confirm it here. Start again with --expect \(entry.node.z32) if it is yours.")
        }
    }

    private func putQuestion(_ entry: KnockQueue.Entry) {
        output.errors.write(
            entry.digits == nil ? "Is that its node ID? [y/N] " : "Does its screen show the same digits? [y/N] ")
    }

    /// The daemon's event, with node IDs in the form of every other output.
    private static func row(_ event: PairingEvent) -> JSONObject {
        var object = event.json.asObject ?? [:]
        if let hex = object["node_id"]?.asString, let node = NodeID(hex: hex) { object["node_id"] = .string(node.z32) }
        return object
    }
}
