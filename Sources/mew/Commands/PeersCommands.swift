import MewBase
import MewDaemon
import MewIdentity
import MewWire

// `mew peers`: the devices this machine's daemon trusts.

extension Command {
    private static let peer = Positional<String>(
        "PEER", "a device: its name, node ID, number in 'mew peers', or the end of its ID", read: Readers.text("PEER"))
    private static let newName = Positional<String>("NEW", "the new name", read: Readers.text("NEW"))
    private static let scope = Positional<String>(
        "SCOPE", "observe, collaborate or control",
        read: Readers.choice("SCOPE", Scope.allCases.map(\.rawValue)))
    private static let all = Flag("all", "every device")
    private static let optionalPeer = Positional<String>("PEER", peer.help, read: Readers.text("PEER"))

    static let peersList = Command("peers list", "list the devices this machine's daemon trusts", run: listPeers)
    /// `mew peers` alone.
    static let peers = Command(
        "peers", "list the devices this machine's daemon trusts; rename, revoke, scope", run: listPeers)

    private static let listPeers: @Sendable (Invocation) async throws(CommandFailure) -> ExitCode = {
        invocation async throws(CommandFailure) in
        let connection = try ControlConnection.openRequired(invocation.context)
        show(try await connection.peers(), invocation.context)
        await connection.close()
        return .ok
    }

    static let peersRename = Command(
        "peers rename", "give a device another name", positionals: [peer.required, newName.required]
    ) { invocation async throws(CommandFailure) in
        try await change(invocation, try invocation.required(peer)) { device, shown throws(CommandFailure) in
            let name = try invocation.required(newName)
            return (.rename(device.node, to: name), "\(shown) is now called \(name.printableName).")
        }
    }

    static let peersScope = Command(
        "peers scope", "choose what a device may do", positionals: [peer.required, scope.required],
        details: [
            "observe: look. collaborate: prompt, answer and cancel too. control: everything, new sessions and settings too."
        ]
    ) { invocation async throws(CommandFailure) in
        let scope = Scope(rawValue: try invocation.required(scope)) ?? .observe
        return try await change(invocation, try invocation.required(peer)) { device, shown throws(CommandFailure) in
            (.setScope(device.node, scope), "\(shown) may \(scope.rawValue) now.")
        }
    }

    static let peersRevoke = Command(
        "peers revoke", "shut a device out, also where it is connected now",
        positionals: [optionalPeer.optional], options: [all.spec],
        details: ["Takes effect within a second, and touches no other device. It has to be paired again to return."]
    ) { invocation async throws(CommandFailure) in
        if invocation[all] {
            let connection = try ControlConnection.openRequired(invocation.context)
            let reply = try await connection.ask(.revokeAll)
            await connection.close()
            return done(reply, "Revoked every device.", invocation.context)
        }
        guard let text = invocation[optionalPeer] else {
            throw CommandFailure(.badInput, "which device?", hint: "Name it, or say --all.")
        }
        return try await change(invocation, text) { device, shown throws(CommandFailure) in
            (.revoke(device.node), "Revoked \(shown).")
        }
    }

    // MARK: - Doing

    /// - Parameter make: gets the device, and its name as the list shows it.
    private static func change(
        _ invocation: Invocation, _ text: String,
        _ make: (ControlPeer, String) throws(CommandFailure) -> (ControlRequest, String)
    ) async throws(CommandFailure) -> ExitCode {
        let connection = try ControlConnection.openRequired(invocation.context)
        let peers = try await connection.peers()
        let device = try find(text, peers)
        let (request, sentence) = try make(device, DistinctNames(peers)[device.node])
        let reply = try await connection.ask(request)
        await connection.close()
        return done(reply, sentence, invocation.context, device.node)
    }

    private static func done(
        _ reply: ControlReply, _ sentence: String, _ context: CommandContext, _ node: NodeID? = nil
    ) -> ExitCode {
        var closed = ""
        var object: JSONObject = ["node_id": node.map { .string($0.z32) } ?? .null]
        if case .revoked(let connections) = reply {
            closed = connections == 0 ? "" : " \(Words.count(connections, "connection")) closed."
            object["connections_closed"] = .integer(Int64(connections))
        }
        context.output.json(object)
        context.output.line(sentence + closed)
        return .ok
    }

    private static func find(_ text: String, _ peers: [ControlPeer]) throws(CommandFailure) -> ControlPeer {
        // Before names: a device may call itself what it likes.
        if let node = try? NodeID(text: text), let known = peers.first(where: { $0.node == node }) { return known }
        let names = DistinctNames(peers)
        let named = peers.filter { $0.name == text || names[$0.node] == text }
        if named.count == 1 { return named[0] }
        let selection = Selection(elements: peers, noun: "device") { $0.node.z32 }
        if case .found(let peer) = selection.find(text) { return peer }
        let near = nearestMatch(to: text, among: peers.map(\.name)).map { "Did you mean \($0.printableName)?" }
        throw CommandFailure(
            .badInput,
            named.count > 1
                ? "several devices are called '\(Readers.shown(text))'"
                : "no device is called '\(Readers.shown(text))'",
            hint: named.count > 1 ? "Give its number in 'mew peers'." : near ?? "See 'mew peers'.")
    }

    private static func show(_ peers: [ControlPeer], _ context: CommandContext) {
        let (output, now, names) = (context.output, WallTime.now.milliseconds, DistinctNames(peers))
        var table = TextTable(["#", "DEVICE", "SCOPE", "PAIRED", "CONNECTED", "NODE ID"], flexible: 5)
        for (index, peer) in peers.enumerated() {
            output.json([
                "node_id": .string(peer.node.z32), "name": .string(peer.name), "scope": .string(peer.scope.rawValue),
                "paired_at_ms": .integer(peer.pairedAtMs), "revoked_at_ms": peer.revokedAtMs.map(JSON.integer) ?? .null,
                "connected": .bool(peer.connections > 0),
            ])
            let revoked = peer.revokedAtMs.map { "revoked " + Words.ago($0, now: now) }
            table.add([
                "\(index + 1)", names[peer.node], revoked ?? peer.scope.rawValue, Words.ago(peer.pairedAtMs, now: now),
                revoked != nil ? "–" : peer.connections > 0 ? "yes" : "no", peer.node.z32,
            ])
        }
        guard !peers.isEmpty else { return output.line("No devices are paired. Run 'mew pair'.") }
        output.table(table)
    }
}

extension DistinctNames {
    fileprivate init(_ peers: [ControlPeer]) {
        self.init(peers.map { ($0.node, $0.name) })
    }
}

extension ControlConnection {
    fileprivate func peers() async throws(CommandFailure) -> [ControlPeer] {
        guard case .peers(let peers) = try await ask(.peers) else {
            throw CommandFailure(.protocol, "the daemon on this machine answered something else")
        }
        return peers
    }
}
