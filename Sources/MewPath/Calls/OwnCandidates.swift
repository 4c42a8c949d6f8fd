package import MewBase

/// Where this node may be reached, for offers and calls. A value.
package struct OwnCandidates: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// Of an interface of this machine.
        case host
        /// A router was asked to let others in there.
        case mapped
        /// Others see us there.
        case reflexive
    }

    package struct Candidate: Hashable, Sendable {
        package let address: SocketAddress
        package let kind: Kind

        package init(_ address: SocketAddress, _ kind: Kind) {
            (self.address, self.kind) = (address, kind)
        }
    }

    /// Hosts first: a neighbour is reached there and nowhere else when the router does not turn packets around.
    package let all: [Candidate]
    /// Nil while nothing was found out.
    package let nat: NATReport?

    package init(host: [SocketAddress] = [], mapped: [SocketAddress] = [], nat: NATReport? = nil) {
        let reflexive = nat?.reflexive ?? []
        let inner = Self.unique(host.map { Candidate($0, .host) }, after: [])
        let outer = Self.unique(
            mapped.map { Candidate($0, .mapped) } + reflexive.map { Candidate($0, .reflexive) }, after: inner)
        // A machine with many addresses does not crowd out those that the outside sees.
        let outside = outer.prefix(Call.maxCandidates / 2)
        all = Array(inner.prefix(Call.maxCandidates - outside.count) + outside)
        self.nat = nat
    }

    package var addresses: [SocketAddress] { all.map(\.address) }

    private static func unique(_ candidates: [Candidate], after earlier: [Candidate]) -> [Candidate] {
        var seen = Set(earlier.map(\.address))
        return candidates.filter { $0.address.canBeDialled && seen.insert($0.address).inserted }
    }
}
