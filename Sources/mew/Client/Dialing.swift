import MewBase
import MewDaemon
import MewIdentity
import MewLoop
import MewNode
import MewRelay
import MewWire

/// What a command dials with.
struct DialerOptions: Sendable {
    let key: SecretKey
    /// Where nodes are looked for whose own relays are not known, or do not answer.
    var knownRelays: [RelayURL] = []
    /// Those that this device's owner named, and no peer.
    var namedRelays: [RelayURL] = []
    /// Shown to the relays it is for.
    var relayToken = RelayCredential()
    /// By whom relays are believed.
    var relayTrust = RelayTrust()
}

/// The dialler of this process: UDP sockets of its own on free ports, under the node's key. Several processes of one state
/// directory dial side by side (DESIGN §4).
func makeNodeDialer(options: DialerOptions, runtime: Runtime) async throws(CommandFailure) -> any Dialer {
    var configuration = Node.Configuration(secret: options.key, accepts: [])
    configuration.knownRelays = options.knownRelays
    configuration.namedRelays = options.namedRelays
    configuration.relayToken = options.relayToken
    configuration.ownAddresses = { PayloadAddresses.current(bound: $0) }
    do throws(NodeError) {
        let node = try await Node.start(
            configuration, network: KernelNetwork(),
            relays: NetworkRelayConnector(on: runtime.loop, options.relayTrust), loop: runtime.loop,
            entropy: SystemEntropy())
        runtime.atEnd { await node.stop() }
        return node
    } catch {
        throw CommandFailure(.internal, error.problem, hint: error.advice)
    }
}
