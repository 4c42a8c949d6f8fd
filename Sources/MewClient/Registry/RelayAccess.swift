package import MewWire

/// What one relay of a daemon wants of this device, as it was given when the daemon was added: kept with the daemon, shown to
/// and believed of that relay only.
public struct RelayAccess: Hashable, Sendable {
    public let relay: String
    /// What the relay is shown.
    public let token: String?
    /// By whom it is believed: certificates, PEM. At most `maxTrustBytes`.
    public let trust: String?

    /// A certificate has about two kilobytes; whoever has a whole store of them names it in `config.json`.
    public static let maxTrustBytes = 16 << 10

    public init(relay: String, token: String? = nil, trust: String? = nil) {
        self.relay = relay
        self.token = token
        self.trust = trust
    }

    /// The same relay, in whatever spelling, and whether a key is pinned or not.
    public func isForSameRelay(as other: RelayAccess) -> Bool {
        guard let url = try? RelayURL(relay), let otherURL = try? RelayURL(other.relay) else {
            // Of an earlier version: nobody is shown it.
            return relay == other.relay
        }
        return url.isSamePlace(as: otherURL)
    }

    /// What is new replaces, what is absent stays.
    func updated(by newer: RelayAccess) -> RelayAccess {
        RelayAccess(relay: relay, token: newer.token ?? token, trust: newer.trust ?? trust)
    }
}

extension RelayAccess: Record {
    package init(_ f: inout Fields, _ old: Self?) throws(FieldError) {
        relay = try f.required("relay", old?.relay)
        token = try f.optional("token", old?.token)
        trust = try f.optional("trust", old?.trust)
    }
}
