import MewClient
import MewLoop
import MewNode
import MewRelay
import MewWire

/// Which relays this invocation uses and how, from the command line and from `config.json`; the command line wins.
struct RelayUse: Sendable {
    var relays: [RelayURL]
    var token: String?
    var trust: TLSTrust?
    /// Of the command line: what `config.json` says is remembered there.
    private let given: (token: String?, trust: String?)

    /// - Parameters:
    ///   - relays: the values of the command's own `--relay`.
    ///   - token: of `--relay-token`.
    ///   - trust: of `--relay-trust`.
    ///   - payload: relays that only a payload names.
    init(
        relays: [RelayURL], token: String?, trust: String?, payload: [String] = [], in context: CommandContext
    ) throws(CommandFailure) {
        given = (token, trust)
        let directory = try context.stateDirectory().files
        let file = try Self.configuration(in: directory)
        self.relays = relays.isEmpty ? file.relays : relays
        self.token = token ?? file.relayToken
        // Which relays want it, nobody else shall say: a peer that names one would be shown it.
        guard self.token == nil || !self.relays.isEmpty else { throw Self.nobodyToShowItTo(payload) }
        let authorities = trust ?? file.relayTrust.map { $0.hasPrefix("/") ? $0 : directory.file($0) }
        self.trust = try authorities.map(Self.trust)
    }

    private static func nobodyToShowItTo(_ payload: [String]) -> CommandFailure {
        guard let relay = payload.first.flatMap({ try? RelayURL($0) }) else {
            return CommandFailure(
                .badInput, "there is no relay that the token for relays is for",
                hint: "Name the relay with --relay URL, or in config.json.")
        }
        return CommandFailure(
            .badInput, "the token is not shown to a relay that only the payload names",
            hint: "If it is for that relay, add --relay \(shellQuoted(relay.description)).")
    }

    // MARK: - With what is remembered

    /// What relays are shown: here and now, then of earlier days.
    func credential(_ remembered: [RelayAccess]) -> RelayCredential {
        var credential = RelayCredential()
        if let token { credential.add(token, for: relays) }
        for access in remembered {
            if let token = access.token, let relay = try? RelayURL(access.relay) { credential.add(token, for: [relay]) }
        }
        return credential
    }

    /// Relays that are believed by what was remembered with them. `--relay-trust` is for all of them.
    func particular(
        _ remembered: [RelayAccess]
    ) throws(CommandFailure) -> [(relay: RelayURL, trust: TLSTrust)] {
        guard given.trust == nil else { return [] }
        var result: [(relay: RelayURL, trust: TLSTrust)] = []
        for access in remembered {
            guard let pem = access.trust, let relay = try? RelayURL(access.relay), relay.isSecure else { continue }
            do throws(TLSFailure) {
                result.append((relay, try TLSTrust(authorities: Array(pem.utf8))))
            } catch {
                throw CommandFailure(
                    .internal, "cannot believe \(relay) by what was remembered: \(error)",
                    hint: "Name the authority with --relay-trust FILE.")
            }
        }
        return result
    }

    /// What is to be remembered of this command line once it has led to a daemon.
    struct Memory: Sendable {
        fileprivate let shownTo: [RelayURL]
        fileprivate let token: String?
        fileprivate let trust: String?

        /// The token for the relays that the command named, the authorities for those of the daemon as well.
        func access(toRelaysOf record: DaemonRecord) -> [RelayAccess] {
            guard token != nil || trust != nil else { return [] }
            let known = record.relays.compactMap { try? RelayURL($0) }
            let others = known.filter { relay in !shownTo.contains { $0.isSamePlace(as: relay) } }
            return shownTo.map { RelayAccess(relay: $0.description, token: token, trust: trust) }
                + (trust == nil ? [] : others.map { RelayAccess(relay: $0.description, trust: trust) })
        }
    }

    /// Reads the file of `--relay-trust`; with a warning when it is too large to be copied.
    func memory(_ output: Output) throws(CommandFailure) -> Memory {
        var pem: String?
        if let file = given.trust {
            let bytes = try? WholeFile.bytes(of: file, maxBytes: RelayAccess.maxTrustBytes)
            pem = bytes.flatMap { String(validating: $0, as: UTF8.self) }
            if pem == nil {
                output.warning(
                    "\(file) is no text of up to \(RelayAccess.maxTrustBytes) bytes and is not remembered; name it in config.json: "
                        + "{\"relay_trust\": …}.")
            }
        }
        return Memory(shownTo: relays, token: given.token, trust: pem)
    }

    private static func configuration(in directory: PrivateDirectory) throws(CommandFailure) -> ConfigurationFile {
        let name = StateDirectory.Name.configuration
        let path = directory.file(name)
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try directory.read(name, maxBytes: ConfigurationFile.maxBytes)
        } catch {
            throw CommandFailure(.badInput, "cannot read \(path): \(error.words)", hint: "Check its permissions.")
        }
        guard let bytes else { return ConfigurationFile() }
        do throws(ConfigurationFile.Malformed) {
            return try ConfigurationFile(bytes)
        } catch {
            throw CommandFailure(.badInput, "cannot use \(path): \(error)", hint: hint(error))
        }
    }

    private static func hint(_ error: ConfigurationFile.Malformed) -> String {
        guard let key = error.unknownKey else { return "Correct it, or move it away." }
        let near = nearestMatch(to: key, among: ConfigurationFile.keys)
        return near.map { "Did you mean \"\($0)\"?" }
            ?? "Its keys are \(ConfigurationFile.keys.joined(separator: ", "))."
    }

    static func trust(_ path: String) throws(CommandFailure) -> TLSTrust {
        do throws(TLSFailure) {
            return try TLSTrust(authoritiesFile: path)
        } catch {
            throw CommandFailure(
                .badInput, "cannot believe relays by \(path): \(error)", hint: "Give a PEM file of certificates.")
        }
    }
}
