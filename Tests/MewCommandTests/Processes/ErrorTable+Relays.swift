import MewWire

extension ErrorTable {
    private static let askToBeAllowed =
        "ask whoever runs the relay to let this device in with 'mew relay --allow {device}'."

    static let relays = Chapter(
        title: "Relays and config.json",
        cases: [
            .init(
                "config.json that is no JSON", .badInput,
                "cannot use {home}/config.json: it is no JSON: {problem}. Correct it, or move it away."),
            .init(
                "config.json that is no object", .badInput,
                "cannot use {home}/config.json: it is no JSON object. Correct it, or move it away."),
            .init(
                "config.json, relays that are no list", .badInput,
                "cannot use {home}/config.json: \"relays\" is no list. Correct it, or move it away."),
            .init(
                "config.json, a relay that is no text", .badInput,
                "cannot use {home}/config.json: \"relays\" holds something else than text. Correct it, or move it away."
            ),
            .init(
                "config.json, a relay that is no URL", .badInput,
                "cannot use {home}/config.json: \"relays\" holds 'desk.example', which {problem}. Correct it, or move it "
                    + "away."),
            .init(
                "config.json, a relay with a path", .badInput,
                "cannot use {home}/config.json: \"relays\" holds 'https://relay.test/path', which has a path, which relays do "
                    + "not take: leave out what stands behind the host and its port. Correct it, or move it away."),
            .init(
                "config.json, a mistyped key", .badInput,
                "cannot use {home}/config.json: there is no key \"relay\". Did you mean \"relays\"?"),
            .init(
                "config.json, a key that is like no other", .badInput,
                "cannot use {home}/config.json: there is no key \"colour\". Its keys are relays, relay_token, relay_trust, port_map."
            ),
            .init(
                "config.json, a token that is no text", .badInput,
                "cannot use {home}/config.json: \"relay_token\" is no text. Correct it, or move it away."),
            .init(
                "config.json, authorities that are no text", .badInput,
                "cannot use {home}/config.json: \"relay_trust\" is no text. Correct it, or move it away."),
            .init(
                "config.json that cannot be read", .badInput,
                "cannot read {home}/config.json: {problem}. Correct it, or move it away."),
            .init(
                "authorities that are not there", .badInput,
                "cannot believe relays by {file}: {problem}. Give a PEM file of certificates."),
            .init(
                "a relay whose certificate is not believed here", .unreachable,
                "could not reach {name}: {relay}: the certificate is not trusted: its issuer is unknown. Check the relay's "
                    + "URL, or name the authority of its certificate with --relay-trust FILE."),
            .init(
                "a relay that does not admit this device", .unauthorized,
                "could not reach {name}: {relay}: the relay does not admit us: not authorized. Give the relay's token with "
                    + "--relay-token TEXT if it has one, or \(askToBeAllowed)"),
            .init(
                "a relay without a certificate, by https://", .unreachable,
                "could not reach {name}: {relay}: what answers there does not speak TLS. Try http:// in place of https://, "
                    + "which is for relays with a certificate."),
            .init(
                "a relay that does not run", .unreachable,
                "could not reach {name}: {relay}: {problem}: connection refused. Check that the relay runs and no firewall is "
                    + "in the way, or name another relay with --relay URL."),
            .init(
                "a token, and a relay that only the payload names", .badInput,
                "the token is not shown to a relay that only the payload names. If it is for that relay, add --relay {relay} to "
                    + "the command."),
            .init(
                "a relay whose certificate is not of the given authorities", .unreachable,
                "could not reach {name}: {relay}: the certificate is not trusted: {problem}. Check the relay's URL, and "
                    + "that the file of --relay-trust holds the authority of its certificate."),
            .init(
                "a relay that only the payload names, and that wants a token", .unauthorized,
                "could not reach {name}: {relay}: the relay does not admit us: not authorized. Give the relay's token with "
                    + "--relay {relay} --relay-token TEXT if it has one, or \(askToBeAllowed)"),
            .init(
                "a relay that does not admit the token that was remembered", .unauthorized,
                "could not reach {name}: {relay}: the relay does not admit us: not authorized. It was shown the token that "
                    + "was remembered at 'mew add'. Give it a new one with 'mew add {node} --relay {relay} --relay-token "
                    + "TEXT', or \(askToBeAllowed)"),
            .init(
                "a token, and no relay that it is for", .badInput,
                "there is no relay that the token of --relay-token is for. Name the relay with --relay URL."),
            .init(
                "authorities, and no relay that they are for", .badInput,
                "there is no relay that the authorities of --relay-trust are for. Name the relay with --relay URL."),
            .init(
                "config.json, a token without relays", .badInput,
                "relay_token in config.json is for the relays that config.json names, and it names none. Add \"relays\" to "
                    + "it."),
        ])
}
