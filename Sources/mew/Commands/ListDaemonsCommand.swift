import MewBase
import MewClient
import MewIdentity
import MewWire

extension Command {
    static let ls = Command(
        "ls", "list the daemons this device knows, and how they are", options: Common.relays,
        details: [
            "Dials each of them, up to eight at a time. Liveness is the last proof, shown with its age."
        ]
    ) { invocation async throws(CommandFailure) in
        let command = try await ClientCommand.open(invocation)
        let daemons = try await command.records().registry.daemons
        let states = await probe(daemons, command)
        // What was learnt meanwhile: versions, proofs.
        let learnt = try await command.records().registry
        let known = daemons.map { learnt[$0.node] ?? $0 }
        show(known, states, invocation.context)
        noteOtherVersions(known, invocation.context.output)
        return .ok
    }

    private struct Probe: Sendable {
        enum State: String { case connected, unreachable, revoked }

        var state: State
        /// For people; a daemon that forgot us and one that revoked us are the same to a program that looks at the state.
        var words: String
        var needsYou: Int?
        /// Why it is not connected, with everything that was tried; half a sentence.
        var problem: String?

        init(_ state: State, words: String? = nil, needsYou: Int? = nil, problem: String? = nil) {
            (self.state, self.words, self.needsYou) = (state, words ?? state.rawValue, needsYou)
            self.problem = problem
        }

        /// The words, where there is something to explain.
        var reason: String? { state == .connected ? nil : words }
    }

    /// A person has a handful of daemons; more at a time would only fight for the line.
    private static let probesAtOnce = 8

    private static func probe(_ daemons: [DaemonRecord], _ command: ClientCommand) async -> [Probe] {
        await withTaskGroup(of: (Int, Probe).self) { group in
            var results = [Probe?](repeating: nil, count: daemons.count)
            for (index, daemon) in daemons.enumerated() {
                if index >= probesAtOnce, let (done, probe) = await group.next() { results[done] = probe }
                group.addTask { (index, await probe(daemon, command)) }
            }
            for await (done, probe) in group { results[done] = probe }
            return results.map { $0 ?? Probe(.unreachable) }
        }
    }

    private static func probe(_ daemon: DaemonRecord, _ command: ClientCommand) async -> Probe {
        let target = ClientCommand.Target(
            record: daemon, routes: DialTarget(node: daemon.node, addresses: []))
        do throws(CommandFailure) {
            let sessions = try await command.connected(to: target) { session async throws(CommandFailure) in
                try await session.sessions()
            }
            return Probe(.connected, needsYou: sessions.count { $0.needsYou })
        } catch {
            let problem = error.message
            if let failure = error.relayFailure {
                return Probe(.unreachable, words: words(failure), problem: problem)
            }
            guard error.exit == .unauthorized else { return Probe(.unreachable, problem: problem) }
            return Probe(.revoked, words: error.code == .unauthorized ? "not paired" : nil, problem: problem)
        }
    }

    private static func words(_ failure: DialError.RelayFailure) -> String {
        switch failure {
        case .notBelieved: "relay not trusted"
        case .notAdmitted: "relay refuses"
        case .namedByOthers: "relay not named"
        case .full: "relay full"
        case .noNetwork: "no network"
        case .otherScheme, .noSuchName, .noRelay, .outOfReach: "relay unreachable"
        }
    }

    private static func noteOtherVersions(_ daemons: [DaemonRecord], _ output: Output) {
        let others = daemons.filter { $0.version.map { $0 != CommandLineProgram.version } ?? false }
        guard !others.isEmpty else { return }
        let names = others.map(\.name).joined(separator: ", ")
        output.note("(this is mew \(CommandLineProgram.version); another version runs on \(names))")
    }

    private static func show(_ daemons: [DaemonRecord], _ probes: [Probe], _ context: CommandContext) {
        let output = context.output
        let now = WallTime.now.milliseconds
        var table = TextTable(["#", "DAEMON", "STATE", "NEEDS YOU", "LAST PROOF", "VERSION", "NODE ID"], flexible: 6)
        for (index, (daemon, probe)) in zip(daemons, probes).enumerated() {
            let proof = probe.state == .connected ? now : daemon.lastProof?.milliseconds
            output.json([
                "daemon": .string(daemon.name), "node_id": .string(daemon.node.z32),
                "state": .string(probe.state.rawValue), "reason": probe.reason.map(JSON.string) ?? .null,
                "problem": probe.problem.map(JSON.string) ?? .null, "version": daemon.version.map(JSON.string) ?? .null,
                "needs_you": probe.needsYou.map { .integer(Int64($0)) } ?? .null,
                "last_proof_ms": proof.map(JSON.integer) ?? .null,
            ])
            table.add([
                "\(index + 1)", daemon.name, probe.words,
                probe.needsYou.map { $0 == 0 ? "-" : Words.count($0, "session") } ?? "?",
                Words.ago(proof, now: now), daemon.version ?? "?", daemon.node.z32,
            ])
        }
        guard !daemons.isEmpty else {
            return output.sentence("No daemons yet. Run 'mew pair' on a machine with a daemon, then 'mew add' here.")
        }
        output.table(table)
    }
}
