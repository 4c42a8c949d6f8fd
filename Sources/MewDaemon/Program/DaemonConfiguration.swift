package import MewBase
package import MewIdentity
package import MewNode
package import MewRelay
package import MewSession
package import MewWire

/// What `mew daemon` was asked for.
package struct DaemonConfiguration: Sendable {
    /// The state directory; made when there is none.
    package var directory: String
    /// The values of `--bind`; empty for all addresses and the kept port.
    package var bind: [SocketAddress]
    /// The values of `--relay`: where the daemon can be reached besides its addresses. The nearest becomes
    /// home; the order decides only while nothing was measured.
    package var relays: [RelayURL]
    /// Shown to the relays it is for.
    package var relayToken: RelayCredential
    /// By whom the relays are believed.
    package var relayTrust: RelayTrust
    /// Whether the router is asked to open the daemon's port.
    package var mapsPort = true
    /// How the daemon calls itself, for people.
    package var name: String
    package var version: String
    /// The values of `--agent`.
    package var agents: [String]
    /// Offered besides those, and before them: the agents of measurements, which no option names.
    package var extraAgents: [any AgentBackend] = []
    /// The home directory of the daemon's user: where sessions without a directory work.
    package var userHome: String
    /// Of the agents, as `NAME=value`.
    package var environment: [String]

    package init(
        directory: String, bind: [SocketAddress] = [], relays: [RelayURL] = [],
        relayToken: RelayCredential = RelayCredential(), relayTrust: RelayTrust = RelayTrust(), name: String,
        version: String, agents: [String] = [], userHome: String, environment: [String]
    ) {
        self.directory = directory
        self.bind = bind
        self.relays = relays
        self.relayToken = relayToken
        self.relayTrust = relayTrust
        self.name = name
        self.version = version
        self.agents = agents
        self.userHome = userHome
        self.environment = environment
    }
}

/// What a daemon that is ready tells whoever started it. The daemon itself prints nothing.
package struct DaemonReadiness: Sendable {
    package let node: NodeID
    package let name: String
    /// Where it is bound.
    package let addresses: [SocketAddress]
    /// Those of the configuration that are in use, home first as far as that is decided.
    package let relays: [Relay]
    /// The agents on offer; the first one is the default.
    package let agents: [String]
    /// Whole sentences for people.
    package let warnings: [String]
    package let damage: StoreDamage

    package init(
        node: NodeID, name: String, addresses: [SocketAddress], relays: [Relay], agents: [String],
        warnings: [String], damage: StoreDamage = StoreDamage()
    ) {
        (self.node, self.name, self.addresses) = (node, name, addresses)
        (self.relays, self.agents, self.warnings, self.damage) = (relays, agents, warnings, damage)
    }

    /// A relay, as it was when the daemon became ready.
    package struct Relay: Sendable {
        package let url: RelayURL
        /// Devices reach the daemon through it.
        package let isConnected: Bool
        /// Half a sentence: why it is not connected; nil while nothing is known.
        package let problem: String?
        /// Half a sentence: what would help.
        package let advice: String?

        package init(url: RelayURL, isConnected: Bool, problem: String? = nil, advice: String? = nil) {
            (self.url, self.isConnected, self.problem, self.advice) = (url, isConnected, problem, advice)
        }
    }
}
