import MewClient
import MewIdentity
import MewNode
import MewWire

/// Which relays a command uses, and for each relay what it is shown and by whom it is believed. A value, made of what was said in
/// three places; nothing is read here, and nobody is asked.
///
/// | said | a token is shown to | authorities are believed for |
/// |---|---|---|
/// | on the command line | the relays of `--relay`, without any those of `config.json` | the same, and those of the payload |
/// | at `mew add`, and remembered | the relay it was given for | the same |
/// | in `config.json` | the relays that `config.json` names | every relay, in place of the system's |
///
/// The first line that is about a relay decides. One that only somebody else names, in a record, a call or a `reach`, is shown
/// nothing, and is believed by the last line alone.
struct RelayUse: Sendable {
    /// What the command line says.
    struct Given: Hashable, Sendable {
        var relays: [RelayURL] = []
        var token: String?
        /// A file.
        var trust: String?
        /// Relays that only a payload names.
        var payload: [RelayURL] = []
    }

    /// Where something was said.
    enum Source: Hashable, Sendable {
        case commandLine
        /// At `mew add` of this daemon.
        case remembered(NodeID)
        case configuration
    }

    /// Certificates by which relays are believed.
    enum Authorities: Hashable, Sendable {
        case file(String)
        /// PEM.
        case text(String)
    }

    /// Something that is for certain relays only.
    struct Rule<Value: Hashable & Sendable>: Hashable, Sendable {
        let value: Value
        let source: Source
        let relays: [RelayURL]

        init(_ value: Value, _ source: Source, for relays: [RelayURL]) {
            (self.value, self.source, self.relays) = (value, source, relays)
        }
    }

    /// Those that were named: where daemons are reached, and looked for.
    let relays: [RelayURL]
    private let tokens: [Rule<String>]
    let authorities: [Rule<Authorities>]
    /// For every relay that has none of its own; nil for the system's.
    let generalAuthorities: Authorities?
    let given: Given
    /// Whom a relay that serves only some nodes has to allow.
    private let device: NodeID?

    /// - Parameters:
    ///   - file: `config.json`, its paths absolute.
    ///   - daemons: with what is remembered of them.
    ///   - device: this machine's node; nil where nobody asks for hints.
    init(
        _ given: Given, file: ConfigurationFile, daemons: [DaemonRecord] = [], device: NodeID? = nil
    ) throws(CommandFailure) {
        self.device = device
        let named = given.relays.isEmpty ? file.relays : given.relays
        try Self.refuseWhatIsForNobody(given, file, named)
        var tokens = Self.remembered(daemons) { $0.token }
        if let token = given.token { tokens.insert(Rule(token, .commandLine, for: named), at: 0) }
        if let token = file.relayToken { tokens.append(Rule(token, .configuration, for: file.relays)) }
        var authorities = Self.remembered(daemons) { $0.trust.map { Authorities.text($0) } }
        if let file = given.trust {
            authorities.insert(Rule(.file(file), .commandLine, for: named + given.payload), at: 0)
        }
        (self.given, relays, self.tokens, self.authorities) = (given, named, tokens, authorities)
        generalAuthorities = file.relayTrust.map { .file($0) }
    }

    private static func remembered<Value>(
        _ daemons: [DaemonRecord], _ value: (RelayAccess) -> Value?
    ) -> [Rule<Value>] {
        daemons.flatMap { daemon in
            daemon.relayAccess.compactMap { access in
                guard let value = value(access), let relay = try? RelayURL(access.relay) else { return nil }
                return Rule(value, .remembered(daemon.node), for: [relay])
            }
        }
    }

    // MARK: - One relay

    /// What `relay` is shown.
    func token(for relay: RelayURL) -> Rule<String>? { Self.first(of: tokens, for: relay) }

    /// By whom `relay` is believed, when that was said for just this one.
    func authorities(for relay: RelayURL) -> Rule<Authorities>? { Self.first(of: authorities, for: relay) }

    private static func first<Value>(of rules: [Rule<Value>], for relay: RelayURL) -> Rule<Value>? {
        rules.first { $0.relays.contains { $0.isSamePlace(as: relay) } }
    }

    var credential: RelayCredential {
        tokens.reduce(into: RelayCredential()) { credential, rule in credential.add(rule.value, for: rule.relays) }
    }

    // MARK: - What is remembered

    /// What is to be remembered with a daemon once this command line has led to it.
    ///
    /// - Parameter trust: the certificates of the file that was given; nil when they are not to be remembered.
    func memory(trust: String?) -> [RelayAccess] {
        guard given.token != nil || trust != nil else { return [] }
        let named = relays.map { RelayAccess(relay: $0.description, token: given.token, trust: trust) }
        guard let trust else { return named }
        let others = given.payload.filter { relay in !relays.contains { $0.isSamePlace(as: relay) } }
        return named + others.map { RelayAccess(relay: $0.description, trust: trust) }
    }

    // MARK: - Mistakes

    /// Which relays a token or an authority is for, nobody else shall say: a peer that names one would be shown it.
    private static func refuseWhatIsForNobody(
        _ given: Given, _ file: ConfigurationFile, _ named: [RelayURL]
    ) throws(CommandFailure) {
        if given.token != nil, named.isEmpty { throw nobodyToShowItTo(given.payload) }
        if given.trust != nil, named.isEmpty, given.payload.isEmpty {
            throw CommandFailure(
                .badInput, "there is no relay that the authorities of --relay-trust are for",
                hint: "Name the relay with --relay URL.")
        }
        if file.relayToken != nil, file.relays.isEmpty {
            throw CommandFailure(
                .badInput, "relay_token in config.json is for the relays that config.json names, and it names none",
                hint: "Add \"relays\" to it.")
        }
    }

    private static func nobodyToShowItTo(_ payload: [RelayURL]) -> CommandFailure {
        guard let relay = payload.first else {
            return CommandFailure(
                .badInput, "there is no relay that the token of --relay-token is for",
                hint: "Name the relay with --relay URL.")
        }
        return CommandFailure(
            .badInput, "the token is not shown to a relay that only the payload names",
            hint: "If it is for that relay, add --relay \(shellQuoted(relay.description)) to the command.")
    }
}

extension RelayUse {
    /// What to do about a relay that did not do; nil when there is nothing to say besides the usual advice.
    func hint(_ trouble: ClientError.RelayTrouble) -> String? {
        guard let relay = try? RelayURL(trouble.url) else { return nil }
        if trouble.failure == .notAdmitted { return tokenHint(relay) }
        if trouble.failure == .notBelieved { return trustHint(relay) }
        return nil
    }

    private func tokenHint(_ relay: RelayURL) -> String? {
        switch token(for: relay)?.source {
        case .commandLine: "Check the token, or \(askToBeAllowed)."
        case .remembered(let node):
            "It was shown the token that was remembered at 'mew add'. Give it a new one with "
                + "'\(again(node, relay, "--relay-token TEXT"))', or \(askToBeAllowed)."
        case .configuration: "Correct relay_token in config.json, or \(askToBeAllowed)."
        case nil where relays.contains { $0.isSamePlace(as: relay) }:
            "Give the relay's token with --relay-token TEXT if it has one, or \(askToBeAllowed)."
        case nil where given.token != nil:
            "It was not shown the token, which is for other relays. Add --relay \(shellQuoted(relay.description)) to the command."
        case nil:
            "Give the relay's token with --relay \(shellQuoted(relay.description)) --relay-token TEXT if it has one, or "
                + "\(askToBeAllowed)."
        }
    }

    /// The relay does not say which of the two it wants, and only we know the ID that its operator needs.
    private var askToBeAllowed: String {
        "ask whoever runs the relay to let this device in"
            + (device.map { " with 'mew relay --allow \($0.z32)'" } ?? "")
    }

    private func trustHint(_ relay: RelayURL) -> String? {
        switch authorities(for: relay)?.source {
        case .commandLine:
            "Check the relay's URL, and that the file of --relay-trust holds the authority of its certificate."
        // What config.json says is for every relay, and so for none in particular.
        case .configuration: nil
        case .remembered(let node):
            "It was to be believed by what was remembered at 'mew add'. Name its new authority with "
                + "'\(again(node, relay, "--relay-trust FILE"))'."
        case nil where (relays + given.payload).contains { $0.isSamePlace(as: relay) }: nil
        case nil where given.trust != nil:
            "The authorities of --relay-trust are for other relays. Add --relay \(shellQuoted(relay.description)) to the command."
        case nil:
            "Name the authority of its certificate with --relay \(shellQuoted(relay.description)) --relay-trust FILE."
        }
    }

    /// A device that is paired needs no window for that.
    private func again(_ node: NodeID, _ relay: RelayURL, _ option: String) -> String {
        "mew add \(node.z32) --relay \(shellQuoted(relay.description)) \(option)"
    }
}
