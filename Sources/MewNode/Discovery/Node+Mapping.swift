import MewBase
import MewLoop
package import MewMapping
import MewQUIC
import Synchronization

// The port that a router keeps open for us.

extension Node {
    var portMapper: PortMapper? { mapper.withLock { $0 } }

    /// What came of asking for it; nil for a node that asks no router.
    package func portMapping() async -> MappingPlan.Result? { await portMapper?.result }

    /// Only for a node that peers are told of, and of the port that is bound to more than loopback.
    func openPort(by routers: (any Routers)?, isReached: Bool) async {
        let bound = addresses.first { $0.family == .ipv4 && !$0.isLoopback }
        guard let routers, isReached, ownAddresses != nil, let bound else { return }
        let mapper = PortMapper(port: bound.port, on: endpoint.loop, routers: routers) { [weak self] result in
            guard let self else { return }
            report(result)
            endpoint.loop.spawn { await self.discovered() }
        }
        self.mapper.withLock { $0 = mapper }
        await mapper.start()
    }

    private func report(_ result: MappingPlan.Result) {
        diagnostics.record(ifWanted: .info) {
            switch result {
            case .asking: Diagnostic(.info, "node", "port_mapping", "asking the router to open our port")
            case .open(let mapping):
                Diagnostic(
                    .info, "node", "port_mapping",
                    "the router keeps \(mapping.external) open for us (\(mapping.method.name))")
            case .failed(let failure):
                Diagnostic(.info, "node", "port_mapping", "no port is open for us at a router: \(failure.words)")
            }
        }
    }
}
