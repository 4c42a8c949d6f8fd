package import MewMapping
package import MewWire

/// What came of asking the router to open the daemon's port, as `mew status` shows it.
package enum ControlMapping: Hashable, Sendable {
    case asking
    /// Where others reach the daemon, as `IP:PORT`, and the protocol by which the router was asked.
    case open(address: String, method: String)
    /// Half a sentence.
    case failed(String)

    package init(_ result: MappingPlan.Result) {
        self =
            switch result {
            case .asking: .asking
            case .open(let mapping): .open(address: "\(mapping.external)", method: mapping.method.name)
            case .failed(let failure): .failed(failure.words)
            }
    }

    /// One object of `mew status --json`.
    package var row: JSON {
        switch self {
        case .asking: ["state": "asking"]
        case .open(let address, let method):
            ["state": "open", "address": .string(address), "method": .string(method)]
        case .failed(let reason): ["state": "failed", "reason": .string(reason)]
        }
    }

    /// Nil for what a newer daemon may say.
    init?(_ json: JSON?) {
        switch json?["state"]?.asString {
        case "asking": self = .asking
        case "open":
            guard let address = json?["address"]?.asString, let method = json?["method"]?.asString else { return nil }
            self = .open(address: address, method: method)
        case "failed": self = .failed(json?["reason"]?.asString ?? "")
        case _: return nil
        }
    }
}
