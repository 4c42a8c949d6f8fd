internal import MewBase
internal import MewSim
package import MewWire

/// Two networks that a link goes between: what stands before either node, and in which families they have sockets.
package struct GridCell: Hashable, Sendable, CustomStringConvertible {
    /// What stands between a machine and the outside, as RFC 4787 tells routers apart. In IPv6 nothing is translated, and the
    /// filtering is that of a stateful firewall.
    package enum Router: String, Sendable, CaseIterable {
        case none
        /// Endpoint-independent mapping and filtering.
        case open
        /// Endpoint-independent mapping, address- and port-dependent filtering.
        case moderate
        /// Both address- and port-dependent.
        case strict
        /// A moderate one behind a moderate one.
        case carrier
        case blocked = "UDP blocked"
    }

    package enum Families: String, Sendable, CaseIterable {
        case ipv4 = "IPv4"
        case ipv6 = "IPv6"
        case dual = "dual stack"

        var all: [SocketAddress.Family] {
            switch self {
            case .ipv4: [.ipv4]
            case .ipv6: [.ipv6]
            case .dual: [.ipv6, .ipv4]
            }
        }
    }

    package let near: Router
    package let far: Router
    package let families: Families
    /// Both nodes are behind one router, which does not turn packets around.
    package let isOneHouse: Bool

    package static let all: [GridCell] =
        Families.allCases.flatMap { families in
            Router.allCases.flatMap { near in
                Router.allCases.map { GridCell(near: near, far: $0, families: families, isOneHouse: false) }
            }
        } + neighbours

    private static let neighbours: [GridCell] = [Router.open, .moderate, .strict, .blocked].map {
        GridCell(near: $0, far: $0, families: .ipv4, isOneHouse: true)
    }

    package var description: String {
        isOneHouse ? "neighbours, \(near.rawValue)" : "\(near.rawValue) × \(far.rawValue), \(families.rawValue)"
    }

    /// What forbids a direct link; nil where there has to be one.
    package var rule: WhyNotDirect.Code? {
        if isOneHouse { return nil }
        if near == .blocked { return .udpBlockedHere }
        if far == .blocked { return .udpBlockedThere }
        let filters: [Router] = [.moderate, .strict, .carrier]
        let isStrict = near == .strict && filters.contains(far) || far == .strict && filters.contains(near)
        return families == .ipv4 && isStrict ? .portPerDestination : nil
    }

    func plan(seed: UInt64) -> SimStage.Plan {
        var random = SeededGenerator(seed: SeededGenerator.mix(seed &+ 0x9a))
        var plan = SimStage.Plan(relays: 1 + Int(random.below(2)), knowsAddress: random.happens(0.5)).wired(by: seed)
        let preservesPorts = random.happens(0.5)
        plan.nearBox = near.box(preservesPorts)
        plan.farBox = far.box(preservesPorts)
        if near == .carrier { plan.nearCarrier = Router.moderate.box(preservesPorts) }
        if far == .carrier { plan.farCarrier = Router.moderate.box(preservesPorts) }
        (plan.families, plan.isOneHouse, plan.surveys) = (families.all, isOneHouse, true)
        return plan
    }
}

extension GridCell.Router {
    fileprivate func box(_ preservesPorts: Bool) -> SimRouter.Behaviour? {
        var behaviour = SimRouter.Behaviour()
        behaviour.preservesPorts = preservesPorts
        switch self {
        case .none: return nil
        case .open: behaviour.filtering = .endpointIndependent
        case .moderate, .carrier: break
        case .strict: behaviour.mapping = .addressAndPortDependent
        case .blocked: behaviour.passesUDP = false
        }
        return behaviour
    }
}
