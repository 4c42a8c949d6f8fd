import MewBase
import MewIdentity
import MewLoop
import MewNode
import MewRelay
import MewWire

/// The dialler of this process: UDP sockets of its own on free ports, under the node's key. Several processes of one state
/// directory dial side by side (DESIGN §4).
func makeNodeDialer(key: SecretKey, runtime: Runtime) async throws(CommandFailure) -> any Dialer {
    do throws(NodeError) {
        let node = try await Node.start(
            Node.Configuration(secret: key, accepts: []), network: KernelNetwork(),
            relays: NetworkRelayConnector(on: runtime.loop, blocking: runtime.files), loop: runtime.loop,
            entropy: SystemEntropy())
        runtime.atEnd { await node.stop() }
        return node
    } catch {
        throw CommandFailure(.internal, error.problem, hint: error.advice)
    }
}
