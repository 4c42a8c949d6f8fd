package import MewBase
package import MewQUICCore

/// Where a relay answers HTTP/3, and what it has to show there.
package struct HTTP3Target: Sendable {
    /// The likeliest first; all are tried at once.
    package let addresses: [SocketAddress]
    package let demand: ServerDemand

    package init(addresses: [SocketAddress], demand: ServerDemand) {
        self.addresses = addresses
        self.demand = demand
    }
}
