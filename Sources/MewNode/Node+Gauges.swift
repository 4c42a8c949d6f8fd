package import MewQUIC

/// How full a node's tables are: numbers for status lines and tests.
package struct NodeGauges: Sendable, Equatable {
    package let endpoint: EndpointGauges
    /// Dialled links whose paths are chosen.
    package let keepers: Int
    /// Relays that are kept for dialled links, not counting those at which the node listens.
    package let visits: Int
}

extension Node {
    package var gauges: NodeGauges {
        get async {
            NodeGauges(
                endpoint: await endpoint.gauges, keepers: keepers.all.count, visits: await relays?.visitCount ?? 0)
        }
    }
}
