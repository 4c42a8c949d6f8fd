import MewQUIC
import MewWire
import Synchronization

/// Which relay is behind which carrier of a node: what a route is called outside. Asked from any thread.
final class CarrierNames: Sendable {
    private let urls = Mutex<[CarrierID: RelayURL]>([:])

    subscript(carrier: CarrierID) -> RelayURL? {
        get { urls.withLock { $0[carrier] } }
        set { urls.withLock { $0[carrier] = newValue } }
    }
}

extension LinkPath {
    init(_ route: Route, _ names: CarrierNames) {
        switch route {
        case .direct(let address): self = .direct(address)
        case .carried(let carrier, _): self = .relay(url: names[carrier]?.description ?? "")
        }
    }
}
