import MewBase
import MewDaemon
import MewIdentity
import MewLoop
import MewQUIC
import MewRelay
import MewWire

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What the command line can say about a relay.
struct RelayOptions: Sendable {
    /// Empty: the default.
    var http: [SocketAddress] = []
    var plain: [SocketAddress] = []
    /// Of the other UDP port; empty: the default; nil: nothing on UDP at all.
    var udp: [SocketAddress]? = []
    var tls: (certificate: String, key: String)?
    var rules = AccessRules.everyone
    var accessFile: String?
    var limits = RelayLimits()
    var logsJSON = false
    var level = Diagnostic.Level.info

    /// The port of the reference server without TLS.
    static let plainPort: UInt16 = 3340
    static let sealedPort: UInt16 = 443
    /// The other UDP port, where STUN clients see whether their router tells ports apart. Also where iroh expects an address
    /// discovery of its own, and waits for it unless it is told that there is none.
    static let discoveryPort: UInt16 = 7842
}

/// A relay inside this process, from its start to its drained end.
///
/// The first SIGINT or SIGTERM ends it in order, the second at once; SIGHUP has it read its files again.
struct RelayRun: Sendable {
    private let context: CommandContext
    private let options: RelayOptions

    init(_ context: CommandContext, _ options: RelayOptions) {
        (self.context, self.options) = (context, options)
    }

    func run() async throws(CommandFailure) -> ExitCode {
        let log = context.makeLog(options.level, isJSON: options.logsJSON)
        var settings = RelaySettings(programVersion: CommandLineProgram.version)
        settings.limits = options.limits
        settings.rules = try rules()
        settings.identity = try identity()
        let secret = try context.key()
        settings.secret = secret
        let loop = try Self.makeLoop()
        defer { loop.stop() }
        let server = RelayServer(settings, on: loop, entropy: SystemEntropy(), diagnostics: log)
        let listening = try await listen(server)
        // Before it says that it is ready: whoever reads that may send a signal at once.
        let (stops, stop) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        listen(to: server, log, stop: stop)
        announce(secret.node, listening, hosts: settings.identity?.hosts ?? [])
        for await _ in stops { break }
        await server.drain()
        context.runtime.signals.listen(nil)
        return .ok
    }

    /// A loop of its own that does not spin, as the one of the other commands does: what a relay would burn while it waits is
    /// the time of those it forwards for.
    private static func makeLoop() throws(CommandFailure) -> EventLoop {
        do throws(SystemError) {
            return try EventLoop(name: "mew-relay")
        } catch {
            throw CommandFailure(.internal, "cannot start the relay: \(error)")
        }
    }

    // MARK: - Files

    private func identity() throws(CommandFailure) -> TLSIdentity? {
        guard let tls = options.tls else { return nil }
        do throws(TLSFailure) {
            return try TLSIdentity(certificateFile: tls.certificate, keyFile: tls.key)
        } catch {
            throw CommandFailure(.badInput, "\(error)", hint: error.hint)
        }
    }

    private func rules() throws(CommandFailure) -> AccessRules {
        guard let path = options.accessFile else { return options.rules }
        var rules = options.rules
        let text = try Self.text(of: path)
        do throws(AccessFile.Malformed) {
            try AccessFile.read(text, into: &rules)
        } catch {
            throw CommandFailure(.badInput, "cannot use the rules in \(path): \(error)", hint: "Correct the line.")
        }
        return rules
    }

    private static func text(of path: String) throws(CommandFailure) -> String {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try WholeFile.bytes(of: path, maxBytes: AccessFile.maxBytes)
        } catch {
            throw CommandFailure(
                .badInput, "cannot read \(path): \(error.reason)",
                hint: "Check the path, and that this user may read it.")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(.badInput, "\(path) is no text", hint: "Give a text file with one rule a line.")
        }
        return text
    }

    // MARK: - Sockets

    /// Where it listens.
    private struct Listening {
        var http: [SocketAddress] = []
        var plain: [SocketAddress] = []
        /// UDP with the numbers of `http`.
        var stun: [SocketAddress] = []
        /// The other UDP port.
        var udp: [SocketAddress] = []
        var http3: [SocketAddress] = []
    }

    private func listen(_ server: RelayServer) async throws(CommandFailure) -> Listening {
        let isSealed = options.tls != nil
        var listening = Listening()
        let port = isSealed ? RelayOptions.sealedPort : RelayOptions.plainPort
        for address in options.http.isEmpty ? Self.all(port) : options.http {
            let isOptional = options.http.isEmpty && address.family == .ipv6
            let bound = try await bindBoth(server, address, isSealed, isOptional)
            if let (tcp, udp) = bound {
                listening.http.append(tcp)
                if let udp { listening.stun.append(udp) }
            }
        }
        for address in options.plain {
            let bound = try await bind(server, address, false, false, "--plain-http")
            if let bound { listening.plain.append(bound) }
        }
        listening.udp = await answerProbes(server)
        listening.http3 = await listenHTTP3(server, at: listening.stun)
        return listening
    }

    private static func all(_ port: UInt16) -> [SocketAddress] {
        [SocketAddress.anyIPv4.with(port: port), SocketAddress.anyIPv6.with(port: port)]
    }

    /// TCP and UDP with one number. UDP first: of a number that the kernel chose, TCP may be taken, and another is tried.
    private func bindBoth(
        _ server: RelayServer, _ address: SocketAddress, _ isSealed: Bool, _ isOptional: Bool
    ) async throws(CommandFailure) -> (tcp: SocketAddress, udp: SocketAddress?)? {
        var attempts = address.port == 0 ? Self.portAttempts : 1
        while true {
            attempts -= 1
            let udp = try await bindStun(server, address, isOptional)
            do throws(CommandFailure) {
                guard let tcp = try await bind(server, udp ?? address, isSealed, isOptional, "--http") else {
                    return nil
                }
                return (tcp, udp)
            } catch {
                guard attempts > 0, error.code == .portTaken, let udp else { throw error }
                await server.stopAnswering(udp)
            }
        }
    }

    /// Numbers that are free for UDP and not for TCP are rare: two in a row hardly exist.
    private static let portAttempts = 8

    private func bindStun(
        _ server: RelayServer, _ address: SocketAddress, _ isOptional: Bool
    ) async throws(CommandFailure) -> SocketAddress? {
        guard options.udp != nil else { return nil }
        do throws(SocketError) {
            return try await server.answerStun(address)
        } catch {
            if isOptional, error == .familyNotSupported || error == .addressNotAvailable(address) { return nil }
            let failure = CommandFailure(socket: error, "UDP \(address)", address, "--http")
            let hint = [failure.hint, "Or say --no-udp."].compactMap(\.self).joined(separator: " ")
            throw CommandFailure(failure.code, failure.message, hint: hint)
        }
    }

    /// - Parameter isOptional: a machine without IPv6 is none that lacks something.
    private func bind(
        _ server: RelayServer, _ address: SocketAddress, _ isSealed: Bool, _ isOptional: Bool, _ option: String
    ) async throws(CommandFailure) -> SocketAddress? {
        do throws(SocketError) {
            return try await server.listen(address, sealed: isSealed)
        } catch {
            if isOptional, error == .familyNotSupported || error == .addressNotAvailable(address) { return nil }
            throw CommandFailure(socket: error, "TCP \(address)", address, option)
        }
    }

    /// On the ports where STUN is answered, by the same sockets. A relay without it works over WebSocket.
    private func listenHTTP3(_ server: RelayServer, at addresses: [SocketAddress]) async -> [SocketAddress] {
        guard !addresses.isEmpty else { return [] }
        do throws(BindFailure) {
            return try await server.listenHTTP3(addresses)
        } catch {
            let reason =
                switch error {
                case .socket(let error):
                    CommandFailure(socket: error, "UDP \(addresses[0])", addresses[0], "--http").message
                case .identity(let reason): reason
                }
            context.output.warning("\(reason). The relay works without it, over TCP alone.")
            return []
        }
    }

    /// A relay without it works; its clients learn less of their routers, and iroh endpoints that expect it take three seconds longer
    /// to start.
    private func answerProbes(_ server: RelayServer) async -> [SocketAddress] {
        guard let wanted = options.udp else { return [] }
        var bound: [SocketAddress] = []
        for address in wanted.isEmpty ? Self.all(RelayOptions.discoveryPort) : wanted {
            do throws(SocketError) {
                bound.append(try await server.answerProbes(address))
            } catch {
                guard !(wanted.isEmpty && error == .familyNotSupported) else { continue }
                let failure = CommandFailure(socket: error, "UDP \(address)", address, "--udp")
                context.output.warning(
                    "\(failure.message). The relay works without it; its clients learn less of their routers, and iroh "
                        + "endpoints, which ask there where they are, start 3 s later. \(failure.hint ?? "")")
            }
        }
        return bound
    }

    // MARK: - Signals

    private func listen(to server: RelayServer, _ log: LogSink, stop: AsyncStream<Void>.Continuation) {
        let isStopping = Once()
        let loop = context.runtime.loop
        context.runtime.signals.listen { signal in
            if signal == .hangUp {
                loop.spawn { await reload(server, log) }
            } else if isStopping.first() {
                stop.yield()
            } else {
                exit(ExitCode.failed.rawValue)
            }
        }
    }

    /// Both or neither: a file that cannot be used changes nothing.
    private func reload(_ server: RelayServer, _ log: LogSink) async {
        do throws(CommandFailure) {
            let rules = try rules()
            try await checkOpening(to: rules, server)
            if let identity = try identity() { await server.replace(identity: identity) }
            await server.replace(rules: rules)
            log.record(Diagnostic(.info, "relay", "reloaded", "the certificate and the access rules were read again"))
        } catch {
            log.record(
                Diagnostic(.error, "relay", "reload_failed", "nothing was changed, because \(error.message)"))
        }
    }

    /// A file that is being written is empty for a moment: no rule of a kind is left, and the relay opens to those it kept out.
    private func checkOpening(to rules: AccessRules, _ server: RelayServer) async throws(CommandFailure) {
        let lost = rules.kindsLost(since: await server.rules)
        guard !lost.isEmpty else { return }
        throw CommandFailure(
            .badInput,
            "no \(lost.joined(separator: " and no ")) rule would be left, so that the relay would let in whom it kept out until now; "
                + "a restart does that, if it is meant")
    }

    // MARK: - Words

    /// The line that scripts wait for comes last.
    private func announce(_ node: NodeID, _ listening: Listening, hosts: [String]) {
        let output = context.output
        if options.rules.allowed == nil, options.rules.tokens.isEmpty, options.accessFile == nil {
            output.note("Everyone who can reach this relay may use it.")
        }
        let places = places(listening, hosts)
        let pinned = places.map { "\($0)#\(node.z32)" }
        for url in listening.plain.isEmpty ? [] : RelayPlaces(bound: listening.plain).urls("http") {
            output.note("Also without TLS: \(url)")
        }
        for url in pinned { output.note("With its key pinned: \(url)") }
        for address in listening.http3 { output.note("HTTP/3 on UDP \(address).") }
        let stun = (listening.stun + listening.udp).map(\.description)
        if !stun.isEmpty { output.note("Tells nodes where they are (STUN) on UDP \(stun.joined(separator: ", ")).") }
        output.json([
            "event": "ready", "node_id": .string(node.z32), "http": Self.text(listening.http.first),
            "stun": Self.text(listening.stun.first), "udp": Self.text(listening.udp.first),
            "http3": Self.text(listening.http3.first),
            "tls": .bool(options.tls != nil),
            "listens": .array((listening.http + listening.plain).map { .string($0.description) }),
            "listens_udp": .array((listening.stun + listening.udp).map { .string($0.description) }),
            "urls": .array(places.map(JSON.string)), "pinned_urls": .array(pinned.map(JSON.string)),
        ])
        for url in places { output.line("mew-relay:\(url)") }
    }

    /// What clients are given: with a certificate the hosts that it is for, because they refuse it for all others.
    private func places(_ listening: Listening, _ hosts: [String]) -> [String] {
        let addresses = RelayPlaces(bound: listening.http)
        guard options.tls != nil else {
            if addresses.areOnlyHere { context.output.note("Only this machine reaches it there.") }
            return addresses.urls("http")
        }
        let named = RelayPlaces.urls(hosts: hosts, bound: listening.http)
        guard named.isEmpty else { return named }
        context.output.note("Clients use a name of the certificate in place of the address.")
        return addresses.urls("https")
    }

    private static func text(_ address: SocketAddress?) -> JSON { address.map { .string($0.description) } ?? .null }
}

extension CommandFailure {
    /// - Parameters:
    ///   - place: the address with its protocol.
    ///   - option: that names another one.
    fileprivate init(socket error: SocketError, _ place: String, _ address: SocketAddress, _ option: String) {
        switch error {
        case .addressInUse:
            self.init(
                .portTaken, "another program listens on \(place) already",
                hint: "Stop it, or choose another port with \(option).")
        case .permissionDenied:
            self.init(
                .badInput, "this user may not listen on \(place)",
                hint: "Ports below 1024 need CAP_NET_BIND_SERVICE; or choose another with \(option).")
        case .addressNotAvailable:
            self.init(.badInput, "this machine has no address \(address.host)", hint: "See 'ip address'.")
        case .familyNotSupported:
            self.init(
                .badInput, "this machine has no IPv6, or no IPv4, for \(place)",
                hint: "Choose another address with \(option).")
        case .system(let errno, let doing):
            self.init(.internal, "\(SystemError(errno: errno, doing: doing))")
        }
    }
}
