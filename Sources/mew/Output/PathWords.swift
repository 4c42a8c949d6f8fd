import MewBase
import MewWire

/// A path as JSON fields and in words.
struct PathWords {
    private let path: LinkPath?

    init(_ path: LinkPath?) {
        self.path = path
    }

    var kind: JSON {
        switch path {
        case .direct: "direct"
        case .relay: "relay"
        case nil: .null
        }
    }

    var isRelayed: Bool { if case .relay = path { true } else { false } }

    var address: JSON { if case .direct(let address) = path { .string(address.description) } else { .null } }
    var relay: JSON { if case .relay(let url) = path { .string(url) } else { .null } }

    var sentence: String {
        switch path {
        case .direct(let address): "direct to \(address)"
        case .relay(let url): "through the relay \(url.printable(limit: 100))"
        case nil: "not connected"
        }
    }
}
